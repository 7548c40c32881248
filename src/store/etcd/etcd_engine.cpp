#include "store/etcd/etcd_engine.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/json.h"
#include "base/random.h"
#include "etcd.pb.h"
#include "store/etcd/etcd_reads.h"
#include "store/etcd/etcd_swaps.h"
#include "store/etcd/etcd_watching.h"

namespace holdfast::store::etcd {

using cas::EngineListener;
using cas::FoundRecords;
using cas::Kind;
using cas::Page;
using cas::Reading;
using cas::Swapped;

namespace {

constexpr double clock_rate_error = 0.01;
constexpr Duration overdue_after = 2s;
constexpr Duration overdue_spread = 1s;
/// How long an etcd member works on a request before it gives up, if all members are healthy.
constexpr Duration etcd_gives_up_after = 7s;

class EtcdEngine final : public cas::Engine {
 public:
    EtcdEngine(boost::asio::io_context& loop, EtcdEngineOptions options)
        : loop_(loop),
          options_(std::move(options)),
          context_{EtcdKeys(options_.prefix),
                   {loop,
                    options_,
                    {[this] { watching_.begin(); }, [this] { leave_history(); },
                     [this](const std::string& why) { on_lost(why); }}},
                   SeenWrites({options_.max_records}),
                   {clock_rate_error,
                    [this](std::int64_t seconds, LeaseSpans::Granted reply) { grant(seconds, std::move(reply)); }},
                   {},
                   {}},
          reads_(context_),
          swaps_(context_, options_.answer_within),
          watching_(loop, context_, {[this] { on_ready(); }, [this](std::string_view notice) { on_notice(notice); }}) {}
    ~EtcdEngine() override { *alive_ = false; }

    void fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) override {
        if (admit(reply)) reads_.fetch(kind, name, std::move(reply));
    }
    void swap(const cas::Swap& swap, Callback<Result<Swapped>> reply) override {
        if (context_.seen.full() && swap.expected == 0)
            return fail_later(reply, unavailable("there are more records than this front can keep the age of"));
        if (context_.own_writes.size() >= options_.max_calls)
            return fail_later(reply, unavailable("too much is under way"));
        if (admit(reply)) swaps_.swap(swap, std::move(reply));
    }
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) override {
        if (admit(reply)) reads_.overlapping(resource, most, std::move(reply));
    }
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) override {
        if (admit(reply)) reads_.of_holder(holder, most, std::move(reply));
    }
    void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<Page>> reply) override {
        if (admit(reply)) reads_.scan(kind, prefix, after, most, std::move(reply));
    }
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override;

    double rho() const override { return clock_rate_error; }
    Duration swap_lingers() const override { return options_.answer_within + etcd_gives_up_after; }

    void start(EngineListener& listener) override {
        listener_ = &listener;
        context_.link.start();
    }
    void stop() override {
        listener_ = nullptr;
        watching_.stop();
        context_.link.stop();
    }
    std::string status() const override;

 private:
    /// Returns false if nothing can be requested now; the reply is then posted.
    template <class T>
    bool admit(Callback<Result<T>>& reply) {
        if (context_.link.is_ready()) return true;
        fail_later(reply, unavailable(context_.link.last_failure()));
        return false;
    }
    template <class T>
    void fail_later(Callback<Result<T>>& reply, Error error) {
        later([reply = std::move(reply), error = std::move(error)]() mutable { reply(std::move(error)); });
    }
    void later(Callback<> what) {
        boost::asio::post(loop_, [alive = alive_, what = std::move(what)]() mutable {
            if (*alive) what();
        });
    }
    void grant(std::int64_t seconds, LeaseSpans::Granted reply);
    void on_ready();
    /// Forgets everything, because etcd is in another history.
    void leave_history() {
        context_.leave_history();
        watching_.leave_history();
        lost_ = true;
    }
    void on_lost(const std::string& why);
    void on_notice(std::string_view notice) {
        if (listener_ != nullptr) listener_->on_notice(notice);
    }

    boost::asio::io_context& loop_;
    EtcdEngineOptions options_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    EngineListener* listener_ = nullptr;
    bool lost_ = false;  ///< the previous history; not reported yet
    /// Differs between fronts, so that they do not all write the same thing at the same time.
    Duration overdue_after_ = overdue_after + Duration(random_seed() % overdue_spread.count());
    EtcdContext context_;
    EtcdReads reads_;
    EtcdSwaps swaps_;
    EtcdWatching watching_;
};

void EtcdEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    if (!admit(reply)) return;
    std::vector<std::string> names;
    for (const std::string& key : context_.seen.due_before(EtcdContext::now() - overdue_after_, most))
        if (const auto named = context_.keys.named(key)) names.emplace_back(named->name);
    later([reply = std::move(reply), names = std::move(names)]() mutable { reply(std::move(names)); });
}

void EtcdEngine::grant(std::int64_t seconds, LeaseSpans::Granted reply) {
    etcd::LeaseGrantRequest request;
    request.set_ttl(seconds);
    context_.link.call(etcd::method::lease_grant, request,
                       [seconds, reply = std::move(reply)](const GrpcAnswer& answer) mutable {
                           const auto response = understood<etcd::LeaseGrantResponse>(answer);
                           if (!response) return reply(response.error());
                           if (!response->error().empty()) return reply(unavailable(response->error()));
                           if (response->id() == 0 || response->ttl() < seconds)
                               return reply(unavailable("it grants shorter leases than it was asked for"));
                           reply(response->id());
                       });
}

void EtcdEngine::on_ready() {
    const cas::EngineHello hello{"etcd-" + std::to_string(context_.link.cluster()),
                                 static_cast<cas::Position>(context_.link.revision()), std::exchange(lost_, false)};
    if (listener_ != nullptr) listener_->on_reachable(hello);
}

void EtcdEngine::on_lost(const std::string& why) {
    watching_.stop();
    if (listener_ != nullptr) listener_->on_unreachable(unavailable(why));
}

std::string EtcdEngine::status() const {
    auto status = JsonValue::object({{"engine", "etcd"},
                                     {"addresses", JsonValue::List{options_.members.begin(), options_.members.end()}},
                                     {"prefix", options_.prefix},
                                     {"reachable", context_.link.is_ready()}});
    if (context_.link.is_ready())
        status.set("member", context_.link.member());
    else
        status.set("why", context_.link.last_failure());
    if (!context_.link.version().empty()) status.set("version", context_.link.version());
    status.set("round_trip_us", std::chrono::duration_cast<std::chrono::microseconds>(watching_.round_trip()).count());
    status.set("revision", context_.link.revision()).set("records", context_.seen.size());
    return to_text(status);
}

}  // namespace

std::unique_ptr<cas::Engine> make_etcd_engine(boost::asio::io_context& loop, EtcdEngineOptions options) {
    return std::make_unique<EtcdEngine>(loop, std::move(options));
}

}  // namespace holdfast::store::etcd
