#include <fmt/format.h>
#include <utility>

#include "agreed/local_log.h"
#include "base/random.h"
#include "base/text.h"
#include "server/backend.h"
#include "server/local_state.h"
#include "server/logger.h"
#include "store/memory/memory_store.h"

namespace holdfast::server {
namespace {

/// Members are declared in dependency order; destruction relies on it.
class MemoryBackend final : public Backend {
 public:
    MemoryBackend(std::unique_ptr<LocalState> state, Logger& log)
        : log_(log),
          state_(std::move(state)),
          agreement_({.disk = &state_->durable(),
                      .ttl_max_on_disk = state_->found().ttl_max,
                      .founding = founding_,
                      .on_failure = [this](const Error& error) { state_->on_write_failed(error); },
                      .first_id = random_seed()}) {}
    ~MemoryBackend() override { leave(); }

    /// Without the log this backend is unusable.
    Result<void> open_agreed() {
        auto opened = open_log(state_->log_place(), founding_);
        if (!opened) return opened.error();
        agreed_log_.emplace(agreed::LocalLog::Parts{
            .machine = agreement_.machine(), .disk = std::move(opened->disk), .found = std::move(opened->found)});
        return agreement_.begin(*agreed_log_);
    }

    authority::Authority::Parts authority_parts() override {
        return {.durable = agreement_,
                .policy = agreement_.policy(),
                .tokens_issued = state_->found().token_ceiling,
                .wall_ms = wall_clock_ms(),
                .started_at = state_->started_at(),
                .recovering_until = state_->found().recovering_until,
                .agents = agreement_.agents(),
                .seed = random_seed()};
    }

    store::DrivenStore& open(authority::Authority& authority) override {
        authority_ = &authority;
        store_.emplace(authority.listener(), HashKey{random_seed(), random_seed()});
        store_->advance(state_->started_at());
        agreement_.use(authority);
        return *store_;
    }

    Result<std::vector<Driven>> begin() override {
        const auto begun = state_->begin([this](std::string_view resource, const lease::Record& record,
                                                const auto&) { store_->restore(resource, record); },
                                         authority_->policy().longest_ttl());
        if (!begun) return begun.error();
        tell_what_was_found();
        return std::vector<Driven>{
            state_->driven(),
            {[this](Instant now) { agreement_.advance(now); }, [this] { return agreement_.next_due(); }}};
    }

    Result<void> start(Driver& driver, OnNode) override {
        state_->start(driver);
        return {};
    }

    void leave() override { agreement_.stop(); }
    void stop(std::function<void()> done) override { done(); }

    Result<std::string> save() override {
        leave();
        const auto saved =
            state_->save(state_->found().recovering_until, [this](const statefile::StateDb::TakeUp& write) {
                store_->for_each_record(
                    [&](std::string_view resource, const lease::Record& record) { write(resource, record, {}); });
            });
        if (!saved) return saved.error();
        return "stopped; kept " + count_of_leases(store_->active_leases()) + " for the next start";
    }

    void close() override {
        leave();
        store_.reset();
    }

    std::string store_status() override { return R"({"engine":"memory","reachable":true})"; }
    std::optional<doors::http::Trouble> own_trouble() override {
        return state_->trouble("the policy cannot be changed");
    }
    void add_numbers(doors::http::MetricNumbers& numbers) override {
        state_->add_numbers(numbers);
        numbers.push_back(
            {"holdfast_token_headroom", token_headroom_help, static_cast<double>(authority_->token_headroom())});
    }

 private:
    void tell_what_was_found() {
        if (state_->found().last_stop == statefile::LastStop::clean)
            log_.info("restored " + count_of_leases(store_->active_leases()) + " from a clean stop");
        const Duration recovering = state_->found().recovering_until - state_->started_at();
        if (recovering > Duration::zero())
            log_.warn(
                "recovering: leases granted before an unclean stop may still be held, so nothing is granted for " +
                format_duration(recovering));
    }

    Logger& log_;
    const agreed::Founding founding_{{}, {"alone"}};
    const std::unique_ptr<LocalState> state_;
    agreed::Agreement agreement_;
    std::optional<agreed::LocalLog> agreed_log_;
    authority::Authority* authority_ = nullptr;
    std::optional<store::memory::MemoryStore> store_;
};

}  // namespace

MadeBackend make_memory_backend(boost::asio::io_context& loop, const ServeOptions& options, Logger& log) {
    auto state = LocalState::open({.loop = loop, .log = log, .directory = options.state_dir, .owner = {}});
    if (!state) return state.error();
    auto backend = std::make_unique<MemoryBackend>(std::move(*state), log);
    if (auto opened = backend->open_agreed(); !opened) return opened.error();
    return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace holdfast::server
