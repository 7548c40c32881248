#include "server/local_home.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "agreed/consensus_log.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "server/cluster.h"
#include "server/open_log.h"
#include "server/store_host.h"
#include "statefile/durable_state.h"
#include "store/memory/memory_store.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::server {
namespace {

/// The store of a standalone server.
class MemoryHost final : public StoreHost {
 public:
    explicit MemoryHost(store::StoreListener& listener) : store_(listener, HashKey{random_seed(), random_seed()}) {}

    store::DrivenStore& store() override { return store_; }

    void restore(std::string_view resource, const lease::Record& record,
                 const store::quorum::RegisterBallots&) override {
        store_.restore(resource, record);
    }
    void for_each(const statefile::StateDb::TakeUp& save) override {
        store_.for_each_record(
            [&](std::string_view resource, const lease::Record& record) { save(resource, record, {}); });
    }

 private:
    store::memory::MemoryStore store_;
};

/// Members are declared in dependency order; destruction relies on it.
class LocalHome final : public Home {
 public:
    explicit LocalHome(LocalHomeParts given)
        : parts(std::move(given)),
          found(parts.db.found()),
          recovering_until(parts.cluster ? silent_until(*parts.cluster, found, parts.started_at)
                                         : found.recovering_until),
          durable({.db = parts.db,
                   .post = [this](Callback<> function) { post(std::move(function)); },
                   .on_failure = [this](const Error& error) { on_write_failed(error); },
                   .on_written = [this] { on_written(); }}),
          node(make_node()) {}

    ~LocalHome() override { leave(); }

    /// Whether the log could be opened. Without it this home is unusable.
    Result<void> opened() const { return node->opened; }

    authority::Authority::Parts authority_parts() override {
        const bool is_node = parts.cluster.has_value();
        return {.durable = node->agreement,
                .policy = node->agreement.policy(),
                .tokens_issued = is_node ? 0 : found.token_ceiling,  // in a cluster the store gives tokens (Q11)
                .wall_ms = wall_clock_ms(),
                .started_at = parts.started_at,
                .recovering_until = is_node ? Instant{} : recovering_until,  // the other members keep granting (Q10)
                .agents = node->agreement.agents(),
                .seed = random_seed(),
                .first_request = is_node ? store::quorum::first_request(parts.cluster->members.self, found.boot) : 1,
                .teller = is_node ? authority::Events::Teller::store : authority::Events::Teller::authority,
                .rho = is_node ? parts.cluster->rho : lease::default_rho};
    }

    store::DrivenStore& open(authority::Authority& using_it) override {
        authority = &using_it;
        host = make_host(using_it.listener());
        host->store().advance(parts.started_at);
        node->agreement.use(using_it);
        node->log->stand(using_it);
        return host->store();
    }

    std::uint32_t node_number() const override { return parts.cluster ? parts.cluster->members.self + 1U : 0U; }
    void on_node(std::function<void(std::uint32_t, bool)> observer) override { tell_of_node = std::move(observer); }

    Result<void> begin() override {
        if (auto checked = check(); !checked) return checked;
        const auto longest_ttl = parts.db.begin(
            [this](std::string_view resource, const lease::Record& record,
                   const store::quorum::RegisterBallots& ballots) { host->restore(resource, record, ballots); });
        if (!longest_ttl) return longest_ttl.error();
        tell_what_was_found();
        const Duration least = parts.cluster ? parts.cluster->longest_ttl : Duration::zero();
        durable.start({*longest_ttl, authority->policy().longest_ttl(), least});
        // The first tokens are reserved before any request can need one (G3).
        durable.drain();
        parts.loop.poll();
        if (write_failed) return *write_failed;
        return {};
    }

    std::vector<Driven> driven() override {
        std::vector<Driven> all = host->driven();
        all.push_back({[this](Instant now) { durable.advance(now); }, [this] { return durable.next_deadline(); }});
        agreed::Agreement& agreement = node->agreement;
        all.push_back({[&](Instant now) { agreement.advance(now); }, [&] { return agreement.next_due(); }});
        return all;
    }

    Result<void> start(Driver& driver) override { return host->start(driver); }

    void leave() override { node->agreement.stop(); }
    void stop(std::function<void()> done) override { host->stop(std::move(done)); }

    /// S1: saves every live lease. Nothing can be granted or renewed any more.
    Result<std::string> save() override {
        leave();
        durable.stop();
        parts.loop.restart();
        parts.loop.poll();  // runs callbacks already posted
        const auto saved = parts.db.stop_cleanly(
            read_boot_clock(), recovering_until,
            [this](const statefile::StateDb::TakeUp& write) { host->for_each(write); }, host->marks());
        if (!saved) return saved.error();
        return "stopped; kept " + active_leases() + " for the next start";
    }

    void close() override {
        leave();
        host.reset();
    }

    std::string store_status() override {
        return parts.cluster ? R"({"engine":"quorum","reachable":true})" : R"({"engine":"memory","reachable":true})";
    }
    std::optional<doors::http::Trouble> own_trouble() override {
        if (auto trouble = host->trouble()) return trouble;
        if (!disk_failure) return std::nullopt;
        const char* const changes =
            parts.cluster ? "this node stores no change of the policy, which takes a majority of the members' disks"
                          : "the policy cannot be changed";
        return doors::http::Trouble{
            "storage_failed",
            fmt::format("{}. Leases are granted and renewed, but {}, and a stop would be unclean; check the disk",
                        disk_failure->message, changes),
            std::nullopt, true};
    }
    void add_numbers(doors::http::MetricNumbers& numbers) override {
        host->add_numbers(numbers);
        const auto since = std::chrono::duration<double>(store_clock_now() - written_at).count();
        numbers.push_back({"holdfast_disk_last_write_age_seconds", "How long ago the disk took something", since});
        numbers.push_back({"holdfast_disk_failing", "Whether the disk refused what it was last asked to write",
                           disk_failure ? 1.0 : 0.0});
        numbers.push_back(
            {"holdfast_disk_failures_total", "Writes that the disk refused", static_cast<double>(disk_failures), true});
        if (!parts.cluster)
            numbers.push_back(
                {"holdfast_token_headroom", token_headroom_help, static_cast<double>(authority->token_headroom())});
    }
    std::string quorum_status() override { return parts.cluster ? host->status() : std::string(); }

 private:
    /// The way of the authority's durable writes. A standalone server is the only member of its own cluster.
    struct Node {
        explicit Node(agreed::Agreement::Parts parts) : agreement(std::move(parts)) {}

        agreed::Agreement agreement;
        std::optional<agreed::ConsensusLog> log;
        Result<void> opened;
        Cluster* cluster = nullptr;
    };
    agreed::Agreement::Parts agreement_parts() {
        agreed::Agreement::Parts made{.disk = &durable,
                                      .ttl_max_on_disk = found.ttl_max,
                                      .founding = agreed::Founding{{}, {"alone"}},
                                      .on_failure = [this](const Error& error) { on_write_failed(error); },
                                      .first_id = random_seed()};
        if (!parts.cluster) return made;
        parts.cluster->fit(made.founding->policy);
        made.founding->members = parts.cluster->members.ids();
        made.ttl_max_on_disk = std::min(found.ttl_max, parts.cluster->longest_ttl);
        made.reserves_tokens = false;
        made.before_policy = [this](const lease::Policy& policy, Callback<Result<void>> done) {
            done(parts.cluster->check(policy));
        };
        return made;
    }
    std::unique_ptr<Node> make_node() {
        agreed::Agreement::Parts agreement = agreement_parts();
        const agreed::Founding founding = *agreement.founding;
        auto made = std::make_unique<Node>(std::move(agreement));
        auto opened = open_log({.path = parts.log_file,
                                .post = [this](Callback<> function) { post(std::move(function)); },
                                .on_failure = [this](const Error& error) { on_write_failed(error); },
                                .on_written = [this] { on_written(); }},
                               founding);
        if (!opened) {
            made->opened = opened.error();
            return made;
        }
        made->log.emplace(agreed::ConsensusLog::Parts{
            .machine = made->agreement.machine(),
            .node = parts.cluster ? parts.cluster->members.self : store::quorum::NodeIndex{0},
            .members = founding.members,
            .disk = std::move(opened->disk),
            .found = std::move(opened->found),
            .send = [this](store::quorum::NodeIndex to,
                           consensus::LogMessage message) { node->cluster->send(to, message); },
            .leader_ttl = parts.cluster ? std::min<Duration>(10s, parts.cluster->longest_ttl) : Duration{10s},
            .seed = random_seed()});
        made->opened = made->agreement.begin(*made->log);
        return made;
    }

    std::unique_ptr<StoreHost> make_host(store::StoreListener& listener) {
        if (!parts.cluster) return std::make_unique<MemoryHost>(listener);
        agreed::ConsensusLog& log = *node->log;
        auto cluster = std::make_unique<Cluster>(Cluster::Parts{
            .loop = parts.loop,
            .settings = *parts.cluster,
            .found = found,
            .started_at = parts.started_at,
            .listener = listener,
            .durable = durable,
            .log = parts.log,
            .write_founders =
                [this](std::vector<std::uint64_t> directories, Callback<Result<void>> done) {
                    durable.save_founders(std::move(directories), std::move(done));
                },
            .write_peer_lives =
                [this](std::vector<store::quorum::LifeMark> lives, Callback<Result<void>> done) {
                    durable.save_peer_lives(std::move(lives), std::move(done));
                },
            .on_log_message = [&log](store::quorum::NodeIndex from,
                                     const consensus::LogMessage& message) { log.receive(from, message); },
            .on_peer =
                [this, &log](store::quorum::NodeIndex peer, bool reachable) {
                    log.on_peer(peer, reachable);
                    if (tell_of_node) tell_of_node(peer + 1U, reachable);
                },
            .log_status =
                [&log] {
                    const agreed::ConsensusLog::Status status = log.status();
                    return LogStatus{status.committed, status.applied, status.leads};
                }});
        node->cluster = cluster.get();
        return cluster;
    }

    /// A node can only start with a policy within its cluster's settings.
    Result<void> check() const { return parts.cluster ? parts.cluster->check(authority->policy()) : Result<void>(); }

    /// Called by the durable state, on its own thread.
    void post(Callback<> function) {
        boost::asio::post(parts.loop, [this, function = std::move(function)]() mutable {
            function();
            parts.tick();
        });
    }

    std::string active_leases() {
        const std::size_t count = host->store().active_leases();
        return std::to_string(count) + (count == 1 ? " lease" : " leases");
    }

    void tell_what_was_found() {
        if (found.last_stop == statefile::LastStop::clean)
            parts.log.info("restored " + active_leases() + " from a clean stop");
        if (!parts.cluster && recovering_until > parts.started_at)
            parts.log.warn(
                "recovering: leases granted before an unclean stop may still be held, so nothing is granted for " +
                format_duration(recovering_until - parts.started_at));
    }

    void on_written() {
        written_at = store_clock_now();
        disk_failure.reset();
    }

    /// A failing disk is retried with every request; the log reports it at most every 10 s.
    void on_write_failed(const Error& error) {
        write_failed = error;
        if (error.code == "storage_failed") {
            disk_failure = error;
            ++disk_failures;
        }
        const Instant now = store_clock_now();
        if (now < quiet_until) return;
        quiet_until = now + 10s;
        parts.log.error(error.message);
    }

    const LocalHomeParts parts;
    const statefile::Found& found;
    const Instant recovering_until;  ///< in a cluster: end of this node's silence
    statefile::DurableState durable;
    const std::unique_ptr<Node> node;
    authority::Authority* authority = nullptr;
    std::function<void(std::uint32_t, bool)> tell_of_node;
    std::unique_ptr<StoreHost> host;
    Instant quiet_until{};
    std::optional<Error> write_failed;
    Instant written_at = store_clock_now();
    std::optional<Error> disk_failure;  ///< error of the last write; empty if it succeeded
    std::uint64_t disk_failures = 0;
};

}  // namespace

Result<std::unique_ptr<Home>> make_local_home(LocalHomeParts parts) {
    auto home = std::make_unique<LocalHome>(std::move(parts));
    if (auto opened = home->opened(); !opened) return opened.error();
    return std::unique_ptr<Home>(std::move(home));
}

}  // namespace holdfast::server
