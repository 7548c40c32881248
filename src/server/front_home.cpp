#include "server/front_home.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "front/front.h"
#include "server/boot_timer.h"
#include "server/engine_in_turns.h"
#include "server/signals.h"
#include "store/etcd/etcd_engine.h"
#include "store/postgres/postgres_engine.h"
#include "store/redis/redis_engine.h"

namespace holdfast {
namespace {

namespace asio = boost::asio;

constexpr Duration pulse_every = 50ms;  // while there is no driver yet

using MadeEngine = Result<std::unique_ptr<core::Engine>>;

template <class Options, class Make>
MadeEngine made(asio::io_context& loop, const Result<Options>& options, Make make) {
    if (!options) return options.error();
    return make(loop, *options);
}

MadeEngine make_engine(asio::io_context& loop, const std::string& url) {
    if (url.starts_with("redis://")) return made(loop, parse_redis_engine(url), make_redis_engine);
    if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
        return made(loop, parse_postgres_engine(url), make_postgres_engine);
    if (url.starts_with("etcd://")) return made(loop, parse_etcd_engine(url), make_etcd_engine);
    return Error{"invalid_argument", "--store takes redis://…, postgres://… or etcd://… (docs/stores.md)"};
}

/// Without user and password, for messages.
std::string without_credentials(const std::string& url) {
    const std::size_t begin = url.find("://") + 3;
    const std::size_t at = url.find('@', begin);
    const std::size_t end = std::min(url.find('/', begin), url.find('?', begin));
    std::string shown = url.substr(0, url.find('?'));
    if (at != std::string::npos && at < end) shown.erase(begin, at + 1 - begin);
    return shown;
}

/// The order of the members is the order of who uses whom.
class EngineHome final : public FrontHome {
 public:
    EngineHome(asio::io_context& loop, std::unique_ptr<core::Engine> engine, std::string shown, Log& log)
        : loop_(loop),
          log_(log),
          shown_(std::move(shown)),
          engine_({.engine = std::move(engine),
                   .begin = [this] { begin_turn(); },
                   .end = [this] { end_turn(); },
                   .later = [this](Callback<> function) { asio::post(loop_, std::move(function)); }}),
          front_({.engine = engine_,
                  .seed = random_seed(),
                  .last_write = core::WriteId{random_seed(), random_seed()},
                  .incarnation = random_seed,
                  .wall_ms = wall_clock_ms,
                  .clock = store_clock_now,
                  .shown_wall_ms = shown_wall_ms,
                  .log = [this](const std::string& line) { log_.info(line); },
                  .warn = [this](const std::string& line) { log_.warn(line); }}) {}

    std::string shown() const override { return shown_; }

    Result<bool> prepare() override {
        std::optional<Result<void>> ready;
        bool signalled = false;
        const Signals signals(loop_, [&signalled] { signalled = true; });
        const auto keep_running = asio::make_work_guard(loop_);
        front_.advance(store_clock_now());
        front_.prepare([&ready](Result<void> outcome) { ready = std::move(outcome); });
        BootTimer pulse(loop_, [this, &pulse] {
            front_.advance(store_clock_now());
            pulse.set(store_clock_now() + pulse_every);
        });
        pulse.set(store_clock_now() + pulse_every);
        while (!ready && !signalled)
            loop_.run_one();
        pulse.stop();
        if (signalled) {
            front_.stop();
            return false;
        }
        if (!*ready) return ready->error();
        return true;
    }

    core::Authority::Parts authority_parts() override {
        return {.durable = front_.durable(),
                .policy = front_.durable().policy(),
                .tokens_issued = 0,  // the store's business
                .wall_ms = wall_clock_ms(),
                .started_at = store_clock_now(),
                .recovering_until = front_.recovering_until(),
                .recovering_why = front_.recovering_why(),
                .agents = front_.durable().agents(),
                .seed = random_seed(),
                .first_request = front_.number() << 40 | 1U,
                .teller = core::Events::Teller::store,
                .store_gives_tokens = true};
    }
    core::DrivenStore& open(core::Authority& authority) override {
        authority_ = &authority;
        core::EngineStore& store = front_.open(authority, authority.listener());
        store.advance(store_clock_now());
        return store;
    }
    Result<void> begin() override { return {}; }

    std::vector<Driven> driven() override {
        return {{[this](Instant now) { front_.advance(now); }, [this] { return front_.next_due(); }}};
    }
    Result<void> start(Driver& driver) override {
        driver_ = &driver;
        return {};
    }

    void leave() override {}
    void stop(std::function<void()> done) override {
        front_.stop();
        asio::post(loop_, std::move(done));
    }
    Result<std::string> save() override {
        driver_ = nullptr;
        return std::string("stopped; everything is in the store");
    }
    void close() override {
        front_.stop();
        front_.close();
    }

    std::string store_status() override { return engine_.status(); }
    const Error* trouble() const override { return front_.trouble() ? &*front_.trouble() : nullptr; }

 private:
    void begin_turn() {
        if (driver_ != nullptr)
            driver_->turn_begins();
        else
            front_.advance(store_clock_now());
    }
    void end_turn() {
        if (driver_ == nullptr) return;
        authority_->advance(authority_->now());
        driver_->turn_ends();
    }

    asio::io_context& loop_;
    Log& log_;
    const std::string shown_;
    EngineInTurns engine_;
    core::Front front_;
    core::Authority* authority_ = nullptr;
    Driver* driver_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<FrontHome>> FrontHome::make(asio::io_context& loop, const std::string& url, Log& log) {
    auto engine = make_engine(loop, url);
    if (!engine) return engine.error();
    return std::unique_ptr<FrontHome>(
        std::make_unique<EngineHome>(loop, std::move(*engine), without_credentials(url), log));
}

}  // namespace holdfast
