#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace holdfast {

/// What switches a door off.
inline constexpr std::string_view door_off = "off";

/// What `holdfast serve` can be told. Every option has a default that works.
struct ServeOptions {
    std::string http = "127.0.0.1:7400";     ///< HOST:PORT; port 0 for a free one
    std::string resp;                        ///< likewise, for the Redis protocol; empty: beside HTTP; `off`: none
    std::string relay;                       ///< likewise, for publishers and consumers of services; three above HTTP
    std::string state_dir;                   ///< empty: under the user's state home
    bool insecure = false;                   ///< allow addresses beyond loopback
    std::vector<std::string> allowed_hosts;  ///< names by which HTTP may be called, besides this machine's
    bool allow_spawn = false;                ///< start backends for whoever can reach HTTP beyond loopback
    bool try_hints = false;                  ///< print three commands to try
    std::size_t max_connections = 10'000;
    std::uint64_t max_memory = 0;  ///< bytes; zero: a share of the machine or control group (memory_watch.h)
    Duration idle_timeout = 60s;
    Duration resp_idle_timeout{};  ///< zero: none, as clients of Redis expect
    Duration read_timeout = 10s;
    std::string relay_address;  ///< where consumers are told to ask for services; empty: as bound
    std::size_t relay_streams_per_service = 1000;
    std::size_t relay_streams_per_identity = 4000;
    std::uint64_t relay_rate_per_service = 0;  ///< bytes per second; zero: no limit
    std::uint64_t relay_rate_per_identity = 0;
    std::string log_level = "info";
    bool log_json = false;

    std::string store;       ///< URL of an engine that keeps the leases (docs/stores.md); empty: this server does
    bool new_store = false;  ///< nothing was ever in that engine, if it is empty

    // Of a node of a cluster (docs/cluster.md); a server alone has none of them.
    std::string node;                 ///< which of the members this is
    std::string peers;                ///< all members: ID=HOST:PORT,…
    std::string peer;                 ///< where to listen for the others; empty: its address in `peers`
    std::string cluster_secret_file;  ///< empty: HOLDFAST_CLUSTER_SECRET
    Duration longest_ttl = 5min;
    double rho = 0.01;
};

/// Serves until SIGTERM or SIGINT. Returns the exit code: 0 after a clean stop, 1 if it could not start.
int run_server(const ServeOptions& options);

}  // namespace holdfast
