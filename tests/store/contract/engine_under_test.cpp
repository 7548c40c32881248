#include "store/contract/engine_under_test.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>

#include "base/clock.h"
#include "store/cas/engine_store.h"
#include "store/cas/request_number.h"

namespace holdfast::store::contract {
namespace {

/// One life of a front.
class Front final : public cas::EngineListener {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        const EngineUnderTest& engine;
        Told& told;
        std::size_t& clock_steps;
        std::uint64_t number;
        Duration ahead;
        Duration patience;
    };
    explicit Front(const Parts& parts)
        : ahead_(parts.ahead),
          engine_(parts.engine.make_engine(parts.loop, parts.patience)),
          store_({.engine = *engine_,
                  .listener = parts.told,
                  .hash_key = {1, parts.number},
                  .front = parts.number,
                  .last_write = cas::WriteId{parts.number, 0},
                  .seed = parts.number,
                  .give_up_after = parts.patience,
                  .last_token = {},
                  .on_token_given = {},
                  .on_clock_stepped = [steps = &parts.clock_steps](Duration) { ++*steps; },
                  .clock = [this] { return time(); }}) {
        store_.advance(time());
        engine_->start(*this);
    }
    ~Front() override {
        store_.stop();
        engine_->stop();
    }

    /// As if the process were killed: nobody hears of what it had under way.
    void forget() { engine_->stop(); }

    Instant time() const { return store_clock_now() + ahead_; }
    cas::EngineStore& store() { return store_; }
    void work() {
        while (store_.advance(time())) {
        }
    }
    Duration due_in() const {
        const Instant due = store_.next_due();
        return due == Instant::max() ? Duration{1s} : due - time();
    }

    void on_reachable(const cas::EngineHello&) override {
        store_.advance(time());
        store_.on_reachable();
        reached_ = true;
    }
    void on_unreachable(const Error& why) override {
        store_.advance(time());
        store_.on_unreachable(why);
    }
    void on_notice(std::string_view notice) override {
        store_.advance(time());
        store_.on_notice(notice);
    }
    bool reached() const { return reached_; }

 private:
    Duration ahead_;
    std::unique_ptr<cas::Engine> engine_;
    cas::EngineStore store_;
    bool reached_ = false;
};

class RealEngine final : public StoreUnderTest {
 public:
    RealEngine(EngineUnderTest engine, const ContractShape& shape)
        : engine_(std::move(engine)), shape_(shape), told_(shape.fronts), steps_(shape.fronts), fronts_(shape.fronts) {
        for (std::size_t i = 0; i < shape.fronts; ++i)
            start_front(i);
    }
    ~RealEngine() override {
        fronts_.clear();
        loop_.restart();
        loop_.run_for(10ms);
    }

    Store& store(std::size_t front) override {
        fronts_.at(front)->work();
        return fronts_.at(front)->store();
    }
    Told& told(std::size_t front) override { return told_.at(front); }
    std::uint64_t first_request(std::size_t front) const override { return cas::first_request_of(numbers_.at(front)); }

    bool run_until(const std::function<bool()>& condition, Duration limit) override {
        const Duration end = elapsed() + limit;
        while (!condition()) {
            if (elapsed() >= end) return false;
            Duration wait = 20ms;
            for (const auto& front : fronts_) {
                if (!front) continue;
                front->work();
                wait = std::min(wait, front->due_in());
            }
            if (loop_.stopped()) loop_.restart();
            loop_.run_one_for(std::max(wait, Duration{100us}));
            loop_.poll();
        }
        return true;
    }
    Duration elapsed() const override { return store_clock_now() - start_; }

    std::string why_not(Ordeal ordeal) const override {
        const auto found = engine_.why_not.find(ordeal);
        return found == engine_.why_not.end() ? std::string{} : found->second;
    }
    void kill_front(std::size_t front) override {
        fronts_.at(front)->forget();
        fronts_.at(front).reset();
    }
    void start_front(std::size_t front) override {
        static std::atomic<std::uint64_t> last_number = 0;
        const Duration ahead = front < shape_.clocks_ahead.size() ? shape_.clocks_ahead[front] : Duration::zero();
        numbers_[front] = ++last_number;
        fronts_[front] = std::make_unique<Front>(
            Front::Parts{loop_, engine_, told_[front], steps_[front], numbers_[front], ahead, shape_.patience});
        run_until([&] { return fronts_[front]->reached(); }, 30s);
    }
    void restart_engine() override { engine_.restart(); }
    void reach_engine(bool reachable) override { engine_.reach(reachable); }
    void slow_engine(Duration by) override { engine_.slow(by); }
    void step_clock(Duration by) override { engine_.step_clock(by); }
    std::size_t clock_steps_noticed(std::size_t front) const override { return steps_.at(front); }

 private:
    EngineUnderTest engine_;
    ContractShape shape_;
    Instant start_ = store_clock_now();
    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
    std::vector<Told> told_;
    std::vector<std::size_t> steps_;
    std::map<std::size_t, std::uint64_t> numbers_;
    std::vector<std::unique_ptr<Front>> fronts_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> under_test(EngineUnderTest engine, const ContractShape& shape) {
    return std::make_unique<RealEngine>(std::move(engine), shape);
}

}  // namespace holdfast::store::contract
