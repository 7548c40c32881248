#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace holdfast::server {

/// The option value that disables a door.
inline constexpr std::string_view door_off = "off";

/// The options of `holdfast serve`. Every option has a default that works.
struct ServeOptions {
    std::string http = "127.0.0.1:7400";     ///< HOST:PORT; port 0 for a free one
    std::string resp;                        ///< likewise, for Redis; empty: one port above HTTP; `off`: none
    std::string relay;                       ///< likewise, for services; empty: three ports above HTTP
    std::string state_dir;                   ///< empty: under the user's state home
    bool insecure = false;                   ///< allow addresses beyond loopback
    std::vector<std::string> allowed_hosts;  ///< host names that HTTP accepts, besides this machine's
    bool allow_spawn = false;                ///< let HTTP clients beyond loopback start backends
    bool try_hints = false;                  ///< print three commands to try
    std::size_t max_connections = 10'000;
    std::uint64_t max_memory = 0;  ///< bytes; zero: a share of the machine or control group (memory_watch.h)
    Duration idle_timeout = 60s;
    Duration resp_idle_timeout{};  ///< zero: no timeout, as Redis clients expect
    Duration read_timeout = 10s;
    std::string relay_address;  ///< address that consumers are given for services; empty: as bound
    std::size_t relay_streams_per_service = 1000;
    std::size_t relay_streams_per_identity = 4000;
    std::uint64_t relay_rate_per_service = 0;  ///< bytes per second; zero: no limit
    std::uint64_t relay_rate_per_identity = 0;
    std::string log_level = "info";
    bool log_json = false;

    std::string store;       ///< URL of an engine that keeps the leases (docs/stores.md); empty: no engine
    bool new_store = false;  ///< that engine, if it is empty, has never held anything

    // Only for a node of a cluster (docs/cluster.md).
    std::string node;                 ///< this member's id
    std::string peers;                ///< all members: ID=HOST:PORT,…
    std::string peer;                 ///< address to listen on for the others; empty: its address in `peers`
    std::string cluster_secret_file;  ///< empty: HOLDFAST_CLUSTER_SECRET
    Duration longest_ttl = 5min;
    double rho = 0.01;
};

/// Serves until SIGTERM or SIGINT. Returns the exit code: 0 after a clean stop, 1 if it could not start.
int run_server(const ServeOptions& options);

}  // namespace holdfast::server
