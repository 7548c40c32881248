#include "server/server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/printable.h"
#include "server/backend.h"
#include "server/cluster_settings.h"
#include "server/logger.h"
#include "server/server_run.h"
#include "server/start_checks.h"

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

MadeBackend make_backend(boost::asio::io_context& loop, const ServeOptions& options,
                         const std::optional<ClusterSettings>& cluster, Logger& log) {
    if (options.store.empty())
        return cluster ? make_quorum_backend(loop, options, *cluster, log) : make_memory_backend(loop, options, log);
    if (cluster)
        return Error{Code::invalid_argument,
                     "--store and --node exclude each other: either the members of a cluster keep the leases, or an "
                     "engine does"};
    return make_engine_backend(loop, options, log);
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
    boost::asio::io_context loop{1};
    const auto backend = make_backend(loop, options, *cluster, *log);
    if (!backend) return refuse(options, backend.error());
    return ServerRun({options, loop, **backend, *log}).run();
}

}  // namespace holdfast::server
