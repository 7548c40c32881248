#include "server/life.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <prometheus/registry.h>

#include "authority/authority.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "doors/http/http_door.h"
#include "doors/relay/relay_door.h"
#include "doors/resp/resp_door.h"
#include "server/cluster.h"
#include "server/cluster_durable.h"
#include "server/driver.h"
#include "server/greeting.h"
#include "server/listen_address.h"
#include "server/replicated_file.h"
#include "server/service_manager.h"
#include "server/signals.h"
#include "services/discovery/directory.h"
#include "services/keys/controller.h"
#include "store/quorum/request_numbers.h"
#include "store/state/durable_state.h"

namespace holdfast {
namespace {

namespace asio = boost::asio;

HttpDoorOptions door_options(const ServeOptions& options) {
    HttpDoorOptions door;
    door.address = options.http;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.idle_timeout;
    door.read_timeout = options.read_timeout;
    door.version = HOLDFAST_VERSION;
    return door;
}

RespDoorOptions resp_options(const ServeOptions& options) {
    RespDoorOptions door;
    door.address = options.resp;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.resp_idle_timeout;
    door.version = HOLDFAST_VERSION;
    return door;
}

/// What the wall clock showed then: opening files has taken a while since.
std::int64_t wall_ms_at(Instant then) {
    return wall_clock_ms() - to_ms(store_clock_now() - then);
}

RelayDoorOptions relay_options(const ServeOptions& options) {
    RelayDoorOptions door;
    door.address = options.relay;
    door.told = options.relay_address;
    door.streams.per_service = options.relay_streams_per_service;
    door.streams.per_identity = options.relay_streams_per_identity;
    door.streams.rate_per_service = options.relay_rate_per_service;
    door.streams.rate_per_identity = options.relay_rate_per_identity;
    return door;
}

}  // namespace

/// The order of the members is the order of who uses whom. Nothing runs on the loop after run() has returned.
struct Life::Impl {
    explicit Impl(const Parts& given)
        : parts(given),
          found(parts.db.found()),
          recovering_until(parts.cluster ? silent_until(*parts.cluster, found, parts.started_at)
                                         : found.recovering_until),
          signals(loop, [this] { stop(); }),
          durable({.db = parts.db,
                   .post = [this](Callback<> function) { post(std::move(function)); },
                   .on_failure = [this](const Error& error) { on_write_failed(error); }}),
          node(make_node()),
          authority(authority_parts()),
          host(make_host()),
          controller({authority, random_hex(16), random_seed()}),
          directory({.authority = authority,
                     .relay = random_seed(),
                     .wall_ms = wall_ms_at(parts.started_at),
                     .started_at = parts.started_at,
                     .seed = random_seed(),
                     .withdraw = [this](const core::Withdrawal& what) {
                         if (relay_door) relay_door->withdraw(what);
                     }}) {
        host->store().advance(parts.started_at);
        authority.use(host->store());
        authority.advance(parts.started_at);
        if (node->state) (*node->state)->use(authority);
    }

    ~Impl() { stop_replicating(); }

    /// What the authority asks of the disk, in the order in which it passes through. A server that is alone is the only
    /// member of its own cluster.
    struct Node {
        Result<std::unique_ptr<ReplicatedState>> state;
        std::optional<ClusterDurable> durable{};
        Cluster* cluster = nullptr;

        core::Durable& outer() { return durable ? static_cast<core::Durable&>(*durable) : **state; }
    };
    std::unique_ptr<Node> make_node() {
        const auto to_loop = [this](Callback<> function) { post(std::move(function)); };
        ReplicatedState::Local local{found.policy, found.agents};
        if (parts.cluster) parts.cluster->fit(local.policy);
        auto made = std::make_unique<Node>(Node{open_replicated_state(
            {parts.log_file, to_loop, [this](const std::string& what) { parts.log.error(what); }},
            {.node = parts.cluster ? parts.cluster->members.self : core::NodeIndex{0},
             .members = parts.cluster ? parts.cluster->members.ids() : std::vector<std::string>{"alone"},
             .local = durable,
             .send = [this](core::NodeIndex to, core::LogMessage message) { node->cluster->send(to, message); },
             .on_failure = [this](const Error& error) { on_write_failed(error); },
             .leader_ttl = parts.cluster ? std::min<Duration>(10s, parts.cluster->longest_ttl) : Duration{10s},
             .seed = random_seed()},
            std::move(local))});
        if (made->state && parts.cluster)
            made->durable.emplace(ClusterDurable::Parts{
                [this](const core::Policy& policy) { return parts.cluster->check(policy); }, **made->state, to_loop});
        return made;
    }

    core::Authority::Parts authority_parts() {
        const bool is_node = parts.cluster.has_value();
        return {.durable = node->state ? node->outer() : durable,
                .policy = node->state ? (*node->state)->policy() : found.policy,
                .tokens_issued = is_node ? 0 : found.token_ceiling,  // of a node: the store's business (Q11)
                .wall_ms = wall_clock_ms(),
                .started_at = parts.started_at,
                .recovering_until = is_node ? Instant{} : recovering_until,  // the others go on meanwhile (Q10)
                .agents = node->state ? (*node->state)->agents() : found.agents,
                .seed = random_seed(),
                .first_request = is_node ? core::first_request(parts.cluster->members.self, found.boot) : 1,
                .teller = is_node ? core::Events::Teller::store : core::Events::Teller::authority};
    }

    std::unique_ptr<StoreHost> make_host() {
        if (!parts.cluster || !node->state) return make_memory_host(authority.listener());
        ReplicatedState& state = **node->state;
        auto cluster = std::make_unique<Cluster>(Cluster::Parts{
            .loop = loop,
            .settings = *parts.cluster,
            .found = found,
            .started_at = parts.started_at,
            .listener = authority.listener(),
            .durable = durable,
            .log = parts.log,
            .write_founders =
                [this](std::vector<std::uint64_t> directories, Callback<Result<void>> done) {
                    durable.save_founders(std::move(directories), std::move(done));
                },
            .on_log_message = [&state](core::NodeIndex from,
                                       const core::LogMessage& message) { state.receive(from, message); },
            .on_peer = [&state](core::NodeIndex peer, bool reachable) { state.on_peer(peer, reachable); },
            .log_status =
                [&state] {
                    const ReplicatedState::Status status = state.status();
                    return LogStatus{status.committed, status.applied, status.leads};
                }});
        node->cluster = cluster.get();
        return cluster;
    }

    /// It can only start with what its cluster has agreed on.
    Result<void> check() const {
        if (!node->state) return node->state.error();
        return parts.cluster ? parts.cluster->check(authority.policy()) : Result<void>();
    }

    int run() {
        if (const auto checked = check(); !checked) return failed(checked.error());
        const auto longest_ttl =
            parts.db.begin([this](std::string_view resource, const core::Record& record,
                                  const core::RegisterBallots& ballots) { host->restore(resource, record, ballots); });
        if (!longest_ttl) return failed(longest_ttl.error());
        tell_what_was_found();
        const bool served = serve(*longest_ttl);
        const bool saved = save();
        return served && saved ? 0 : 1;
    }

    /// False if it could not.
    bool serve(Duration longest_ttl) {
        const auto keep_running = asio::make_work_guard(loop);
        const Duration least = parts.cluster ? parts.cluster->longest_ttl : Duration::zero();
        durable.start({longest_ttl, authority.policy().ttl_max, least});
        // The first tokens are reserved before anybody can ask for one (G3).
        durable.drain();
        loop.poll();
        if (write_failed) return false;
        driver.emplace(Driver::Parts{loop, host->store(), authority, durable, driven()});
        if (const auto started = host->start(*driver); !started) return failed(started.error()) == 0;
        HttpDoorOptions http = door_options(parts.options);
        if (parts.cluster) http.quorum_status = [this] { return host->status(); };
        const HttpDoorServices behind{authority, controller, directory};
        door.emplace(loop, behind, registry, std::move(http), [this] { driver->tick(); });
        const auto address = door->listen();
        if (!address) return failed(address.error()) == 0;
        const auto resp = open_resp_door();
        if (!resp) return failed(resp.error()) == 0;
        const auto relay = open_relay_door();
        if (!relay) return failed(relay.error()) == 0;
        greet({.address = *address, .resp = *resp, .relay = *relay});
        loop.run();
        return true;
    }

    std::vector<Driven> driven() {
        std::vector<Driven> all = host->driven();
        ReplicatedState& state = **node->state;
        all.push_back({[&state](Instant now) { state.advance(now); }, [&state] { return state.next_due(); }});
        all.push_back({[this](Instant now) { controller.advance(now); }, [this] { return controller.next_due(); }});
        all.push_back({[this](Instant now) { directory.advance(now); }, [this] { return directory.next_due(); }});
        return all;
    }

    /// Returns its address, or nothing if it is switched off.
    Result<std::string> open_resp_door() {
        if (parts.options.resp == door_off) return std::string{};
        resp_door.emplace(loop, authority, resp_options(parts.options), door_turn());
        return resp_door->listen();
    }
    Result<std::string> open_relay_door() {
        if (parts.options.relay == door_off) return std::string{};
        relay_door.emplace(loop, directory, registry, relay_options(parts.options), door_turn());
        auto bound = relay_door->listen();
        const bool everywhere = bound && (bound->starts_with("0.0.0.0:") || bound->starts_with("[::]:"));
        if (everywhere && parts.options.relay_address.empty())
            parts.log.warn("consumers are told that the relay is at " + *bound +
                           "; say with --relay-address where they can reach it");
        return bound;
    }
    DoorTurn door_turn() {
        return {[this] { driver->turn_begins(); }, [this] { driver->turn_ends(); }};
    }

    /// First nobody can ask for anything any more, then nothing comes from other nodes either.
    void stop() {
        parts.log.info("stopping");
        tell_service_manager("STOPPING=1");
        if (!door) return loop.stop();
        driver->tick();
        stop_replicating();  // while it can still give back that it leads
        authority.stop();
        controller.stop();
        const auto one_less = [this] {
            if (--doors_open == 0) host->stop([this] { loop.stop(); });
        };
        doors_open = 1 + (resp_door ? 1 : 0) + (relay_door ? 1 : 0);
        door->stop(one_less);
        if (resp_door) resp_door->stop(one_less);
        if (relay_door) relay_door->stop(one_less);
    }

    void stop_replicating() {
        if (node->state) (*node->state)->stop();
    }

    /// S1: whatever is alive now is written down. Nobody can be granted or renewed anything any more.
    bool save() {
        if (driver) driver->stop();
        stop_replicating();
        durable.stop();
        loop.restart();
        loop.poll();  // answers that were on their way
        const auto saved = parts.db.stop_cleanly(
            read_boot_clock(), recovering_until, [this](const StateDb::TakeUp& write) { host->for_each(write); },
            host->marks());
        if (!saved) return failed(saved.error()) == 0;
        parts.log.info("stopped; kept " + active_leases() + " for the next start");
        return true;
    }

    /// Called by the durable state, from its own thread.
    void post(Callback<> function) {
        asio::post(loop, [this, function = std::move(function)]() mutable {
            function();
            if (driver) driver->tick();
        });
    }

    std::string active_leases() {
        const std::size_t count = host->store().active_leases();
        return std::to_string(count) + (count == 1 ? " lease" : " leases");
    }

    void tell_what_was_found() {
        if (found.last_stop == LastStop::clean) parts.log.info("took up " + active_leases() + " from a clean stop");
        if (!parts.cluster && recovering_until > parts.started_at)
            parts.log.warn(
                "recovering: leases granted before an unclean stop may still be held, so nothing is granted for " +
                format_duration(recovering_until - parts.started_at));
    }

    void greet(Greeting greeting) {
        greeting.version = HOLDFAST_VERSION;
        greeting.program = path_of_this_program();
        greeting.hints = parts.options.try_hints;
        std::fputs(to_string(greeting).c_str(), stdout);
        std::fflush(stdout);
        parts.log.info("serving on http://" + greeting.address +
                       (greeting.resp.empty() ? "" : " and redis://" + greeting.resp) +
                       (greeting.relay.empty() ? "" : ", relaying on " + greeting.relay));
        tell_service_manager("READY=1");
    }

    /// A disk that fails is asked again with every request; the log need not say so each time.
    void on_write_failed(const Error& error) {
        write_failed = true;
        const Instant now = store_clock_now();
        if (now < quiet_until) return;
        quiet_until = now + 10s;
        parts.log.error(error.message);
    }

    int failed(const Error& error) {
        parts.log.error(error.message);
        return 1;
    }

    const Parts parts;
    const Found& found;
    const Instant recovering_until;  ///< of a node: until when it is silent
    asio::io_context loop{1};
    Signals signals;
    DurableState durable;
    const std::unique_ptr<Node> node;
    core::Authority authority;
    std::unique_ptr<StoreHost> host;
    core::Controller controller;
    core::Directory directory;
    prometheus::Registry registry;
    std::optional<Driver> driver;
    std::optional<HttpDoor> door;
    std::optional<RespDoor> resp_door;
    std::optional<RelayDoor> relay_door;
    int doors_open = 0;
    Instant quiet_until{};
    bool write_failed = false;
};

Life::Life(Parts parts) : impl_(std::make_unique<Impl>(parts)) {}

Life::~Life() = default;

int Life::run() {
    return impl_->run();
}

}  // namespace holdfast
