#include "server/server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/printable.h"
#include "server/cluster_settings.h"
#include "server/front_home.h"
#include "server/life.h"
#include "server/local_home.h"
#include "server/logger.h"
#include "server/start_checks.h"
#include "statefile/state_db.h"
#include "statefile/state_dir.h"

namespace holdfast::server {
namespace {

/// Raises the limit on open files to what `connections` need, as far as the system allows. A lower limit only means
/// that new connections wait to be accepted.
void make_room_for_connections(std::size_t connections) {
    constexpr rlim_t others = 64;  // state file, log, timers, the listening socket
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    const rlim_t wanted = std::min<rlim_t>(connections + others, files.rlim_max);
    if (files.rlim_cur >= wanted) return;
    files.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &files);
}

constexpr std::size_t relay_files = 36'000;  // for publishers, both ends of streams, and new connections

/// Reports an error from before the server runs. Plain text has no date in front.
int refuse(const ServeOptions& options, const Error& error) {
    auto log = Logger::open({.level = "error", .json = true});
    if (options.log_json && log) log->error(error.message);
    if (!options.log_json) std::fprintf(stderr, "holdfast: %s\n", printable(error.message).c_str());
    return 1;
}

/// The log has the policy, the bans and the agents, and for a member also its promises and accepted decrees (L1). A
/// server that starts without it would admit banned holders again.
Result<void> check_whole(const statefile::StateDir& directory, const statefile::Found& found, bool alone) {
    std::error_code failed;
    const std::string log = directory.file("log.db");
    const bool had_one = alone ? found.last_stop != statefile::LastStop::none : !found.founders.empty();
    if (!had_one || std::filesystem::exists(log, failed)) return {};
    return Error{"state_corrupt", std::string(alone ? "the log with the policy, the bans and the agents, "
                                                    : "this member's share of the replicated log, ") +
                                      log + ", is gone, but the rest of its state is there; put it back, or see " +
                                      (alone ? "docs/operations.md for a state that is damaged"
                                             : "docs/cluster.md for a directory that is lost")};
}

/// Serves until a signal. `make_home` gets a callback that the home calls after each callback from the disk.
int run_at_home(const ServeOptions& options, Logger& log, boost::asio::io_context& loop, Instant started_at,
                const std::function<Result<std::unique_ptr<Home>>(std::function<void()> tick)>& make_home) {
    std::optional<Life> life;
    const auto home = make_home([&life] {
        if (life) life->tick();
    });
    if (!home) return refuse(options, home.error());
    life.emplace(Life::Parts{.options = options, .loop = loop, .home = **home, .log = log, .started_at = started_at});
    const int code = life->run();
    life.reset();
    return code;
}

int run_with_state(const ServeOptions& options, const std::optional<ClusterSettings>& cluster, Logger& log) {
    const auto path =
        options.state_dir.empty() ? statefile::default_state_dir() : Result<std::string>(options.state_dir);
    if (!path) return refuse(options, path.error());
    const auto directory = statefile::StateDir::open(*path);
    if (!directory) return refuse(options, directory.error());
    const ClockReading clock = read_boot_clock();
    const statefile::StateOwner owner = cluster ? cluster->owner() : statefile::StateOwner{};
    const auto db = statefile::StateDb::open(directory->file("state.db"), clock, owner);
    if (!db) return refuse(options, db.error());
    if (const auto whole = check_whole(*directory, (*db)->found(), owner.alone()); !whole)
        return refuse(options, whole.error());
    log.info("holdfast " HOLDFAST_VERSION ", state in " + directory->path());
    if ((*db)->found().damaged)
        log.error(
            fmt::format("the state file {} was altered after it was saved: its checksum is wrong. No lease in it is "
                        "restored, as after an unclean stop; check the disk and the memory of this machine",
                        directory->file("state.db")));
    boost::asio::io_context loop{1};
    return run_at_home(options, log, loop, clock.now, [&](std::function<void()> tick) {
        return make_local_home({.loop = loop,
                                .cluster = cluster,
                                .log = log,
                                .db = **db,
                                .log_file = directory->file("log.db"),
                                .started_at = clock.now,
                                .tick = std::move(tick)});
    });
}

/// Everything is in the engine, except this server's memory of the engine itself.
int run_as_front(const ServeOptions& options, const std::optional<ClusterSettings>& cluster, Logger& log) {
    if (cluster)
        return refuse(options, {"invalid_argument",
                                "--store and --node exclude each other: either the members of a cluster keep the "
                                "leases, or an engine does"});
    boost::asio::io_context loop{1};
    auto front = make_front_home(
        loop, {.url = options.store, .state_dir = options.state_dir, .new_store = options.new_store}, log);
    if (!front) return refuse(options, front.error());
    log.info("holdfast " HOLDFAST_VERSION ", a front of " + front->store);
    return run_at_home(options, log, loop, store_clock_now(), [&](const std::function<void()>&) {
        return Result<std::unique_ptr<Home>>(std::move(front->home));
    });
}

}  // namespace

int run_server(const ServeOptions& given) {
    ServeOptions options = given;
    auto log = Logger::open({.level = options.log_level, .json = options.log_json});
    if (!log) return refuse(options, log.error());
    if (const auto checked = check_wall_clock(wall_clock_ms()); !checked) return refuse(options, checked.error());
    if (const auto allowed = check_listen_address(options.http, options.insecure); !allowed)
        return refuse(options, allowed.error());
    if (options.resp.empty()) options.resp = address_beside(options.http, 1);
    if (options.relay.empty()) options.relay = address_beside(options.http, 3);
    for (const std::string& address : {options.resp, options.relay})
        if (address != door_off)
            if (const auto allowed = check_listen_address(address, options.insecure); !allowed)
                return refuse(options, allowed.error());
    auto names = allowed_hosts(options, name_of_this_machine());
    if (!names) return refuse(options, names.error());
    options.allowed_hosts = std::move(*names);
    const auto cluster = read_cluster_settings(options);
    if (!cluster) return refuse(options, cluster.error());
    const std::size_t doors = options.resp == door_off ? 1 : 2;
    make_room_for_connections(doors * options.max_connections + (options.relay == door_off ? 0 : relay_files));
    return options.store.empty() ? run_with_state(options, *cluster, *log) : run_as_front(options, *cluster, *log);
}

}  // namespace holdfast::server
