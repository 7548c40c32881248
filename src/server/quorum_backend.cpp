#include <algorithm>
#include <utility>

#include "agreed/consensus_log.h"
#include "base/random.h"
#include "server/backend.h"
#include "server/cluster.h"
#include "server/local_state.h"
#include "server/logger.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::server {
namespace {

/// Members are declared in dependency order; destruction relies on it.
class QuorumBackend final : public Backend {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        const ClusterSettings& settings;
        std::unique_ptr<LocalState> state;
        Logger& log;
    };
    explicit QuorumBackend(Parts parts)
        : loop_(parts.loop),
          settings_(parts.settings),
          log_(parts.log),
          founding_(founding_of(settings_)),
          state_(std::move(parts.state)),
          silent_until_(silent_until(settings_, state_->found(), state_->started_at())),
          agreement_({.disk = &state_->durable(),
                      .ttl_max_on_disk = std::min(state_->found().ttl_max, settings_.longest_ttl),
                      .reserves_tokens = false,  // the node's share of the registers does (token_ceiling.h)
                      .founding = founding_,
                      .before_policy = [this](const lease::Policy& policy,
                                              Callback<Result<void>> done) { done(settings_.check(policy)); },
                      .on_failure = [this](const Error& error) { state_->on_write_failed(error); },
                      .first_id = random_seed()}) {}
    ~QuorumBackend() override { leave(); }

    /// Without the log this backend is unusable.
    Result<void> open_agreed() {
        auto opened = open_log(state_->log_place(), founding_);
        if (!opened) return opened.error();
        agreed_log_.emplace(agreed::ConsensusLog::Parts{
            .machine = agreement_.machine(),
            .node = settings_.members.self,
            .members = founding_.members,
            .disk = std::move(opened->disk),
            .found = std::move(opened->found),
            .send = [this](store::quorum::NodeIndex to, consensus::LogMessage message) { cluster_->send(to, message); },
            .leader_ttl = std::min<Duration>(10s, settings_.longest_ttl),
            .seed = random_seed()});
        return agreement_.begin(*agreed_log_);
    }

    authority::Authority::Parts authority_parts() override {
        return {.durable = agreement_,
                .policy = agreement_.policy(),
                .tokens_issued = 0,  // the store gives tokens (Q11)
                .wall_ms = wall_clock_ms(),
                .started_at = state_->started_at(),
                .recovering_until = Instant{},  // the other members keep granting (Q10)
                .agents = agreement_.agents(),
                .seed = random_seed(),
                .first_request = store::quorum::first_request(settings_.members.self, state_->found().boot),
                .teller = authority::Events::Teller::store,
                .rho = settings_.rho};
    }

    store::DrivenStore& open(authority::Authority& authority) override {
        authority_ = &authority;
        cluster_.emplace(cluster_parts(authority));
        cluster_->store().advance(state_->started_at());
        agreement_.use(authority);
        agreed_log_->stand(authority);
        return cluster_->store();
    }

    /// A node can only start with a policy within its cluster's settings.
    Result<std::vector<Driven>> begin() override {
        if (auto checked = settings_.check(authority_->policy()); !checked) return checked.error();
        const auto begun = state_->begin(
            [this](std::string_view resource, const lease::Record& record,
                   const store::quorum::RegisterBallots& ballots) { cluster_->restore(resource, record, ballots); },
            authority_->policy().longest_ttl(), settings_.longest_ttl);
        if (!begun) return begun.error();
        if (state_->found().last_stop == statefile::LastStop::clean)
            log_.info("restored " + count_of_leases(cluster_->store().active_leases()) + " from a clean stop");
        return std::vector<Driven>{
            cluster_->driven(),
            state_->driven(),
            {[this](Instant now) { agreement_.advance(now); }, [this] { return agreement_.next_due(); }}};
    }

    Result<void> start(Driver& driver, OnNode on_node) override {
        on_node_ = std::move(on_node);
        state_->start(driver);
        return cluster_->start(driver);
    }

    void leave() override { agreement_.stop(); }
    void stop(std::function<void()> done) override { cluster_->stop(std::move(done)); }

    Result<std::string> save() override {
        leave();
        const auto saved = state_->save(
            silent_until_, [this](const statefile::StateDb::TakeUp& write) { cluster_->for_each(write); },
            cluster_->marks());
        if (!saved) return saved.error();
        return "stopped; kept " + count_of_leases(cluster_->store().active_leases()) + " for the next start";
    }

    void close() override {
        leave();
        cluster_.reset();
    }

    std::uint32_t node_number() const override { return settings_.members.self + 1U; }
    std::string quorum_status() override { return cluster_->status(); }
    std::string store_status() override { return R"({"engine":"quorum","reachable":true})"; }
    std::optional<doors::http::Trouble> own_trouble() override {
        if (auto trouble = cluster_->trouble()) return trouble;
        return state_->trouble(
            "this node stores no change of the policy, which takes a majority of the members' disks");
    }
    void add_numbers(doors::http::MetricNumbers& numbers) override {
        cluster_->add_numbers(numbers);
        state_->add_numbers(numbers);
    }

 private:
    static agreed::Founding founding_of(const ClusterSettings& settings) {
        agreed::Founding founding{{}, settings.members.ids()};
        settings.fit(founding.policy);
        return founding;
    }

    Cluster::Parts cluster_parts(authority::Authority& authority) {
        return {.loop = loop_,
                .settings = settings_,
                .found = state_->found(),
                .started_at = state_->started_at(),
                .listener = authority.listener(),
                .durable = state_->durable(),
                .log = log_,
                .on_log_message = [this](store::quorum::NodeIndex from,
                                         const consensus::LogMessage& message) { agreed_log_->receive(from, message); },
                .on_peer =
                    [this](store::quorum::NodeIndex peer, bool reachable) {
                        agreed_log_->on_peer(peer, reachable);
                        if (on_node_) on_node_(peer + 1U, reachable);
                    },
                .log_status =
                    [this] {
                        const agreed::ConsensusLog::Status status = agreed_log_->status();
                        return LogStatus{status.committed, status.applied, status.leads};
                    }};
    }

    boost::asio::io_context& loop_;
    const ClusterSettings& settings_;
    Logger& log_;
    const agreed::Founding founding_;
    const std::unique_ptr<LocalState> state_;
    const Instant silent_until_;
    agreed::Agreement agreement_;
    std::optional<agreed::ConsensusLog> agreed_log_;
    authority::Authority* authority_ = nullptr;
    OnNode on_node_;
    std::optional<Cluster> cluster_;
};

}  // namespace

MadeBackend make_quorum_backend(boost::asio::io_context& loop, const ServeOptions& options,
                                const ClusterSettings& settings, Logger& log) {
    auto state =
        LocalState::open({.loop = loop, .log = log, .directory = options.state_dir, .owner = settings.owner()});
    if (!state) return state.error();
    auto backend = std::make_unique<QuorumBackend>(QuorumBackend::Parts{loop, settings, std::move(*state), log});
    if (auto opened = backend->open_agreed(); !opened) return opened.error();
    return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace holdfast::server
