#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/server_address.h"
#include "server/server.h"

namespace holdfast::cli {

/// Options of every command.
struct CommonOptions {
    std::string server;  ///< one, or several separated by commas; checked; never empty after parsing
    bool json = false;
    bool quiet = false;  ///< no notes on standard error, only errors
};

/// How `run` and `acquire` acquire leases.
struct TakeOptions {
    std::vector<std::string> resources;
    std::string predicate = "MUTATES";
    std::optional<Duration> ttl;
    std::optional<Duration> wait;  ///< how long to wait for a turn
    bool wait_for_ever = false;
    std::string reason;
    std::string name_space;
    std::string holder;    ///< empty: default_holder(); for `acquire` work_tree_identity()
    std::string session;   ///< empty: a generated one, so that two commands of one holder exclude each other
    std::string priority;  ///< empty: a plain holder; `now` or a number: an agent, registered first
    std::optional<std::uint64_t> epoch;  ///< of the agent
    std::vector<std::string> command;    ///< for `run` and `elect`
    bool leave_daemons = false;          ///< processes that left the command's group keep running after it has ended
};

/// Leases named on the command line, for `renew`, `release`, `verify`, `revoke` and `bar`.
struct NamedOptions {
    std::vector<std::string> leases;
    std::string holder;
    std::optional<Duration> ttl;
    bool all = false;     ///< all leases of the holder
    std::string session;  ///< for `release`
    std::optional<std::uint64_t> epoch;
    std::optional<std::uint64_t> progress;  ///< for `renew`
};

/// The filter of `list` and `watch`.
struct FilterOptions {
    std::string holder;
    std::string prefix;
    std::string name_space;
    bool renewed = false;
};

struct PolicyOptions {
    std::string name_space;            ///< empty: the default one
    std::vector<std::string> inherit;  ///< settings that the namespace is to inherit again
    std::optional<Duration> ttl_min;
    std::optional<Duration> ttl_max;
    std::optional<Duration> ttl_default;
    std::optional<std::string> ttl_over_max;
    std::optional<Duration> wait_max;
    std::optional<std::string> name_pattern;             ///< empty: any name
    std::optional<Duration> hold_max;                    ///< zero: no limit
    std::optional<Duration> idle_max;                    ///< zero: no limit
    std::optional<std::uint64_t> leases_per_holder_max;  ///< zero: any number
    std::optional<std::string> approval;                 ///< of publishers
};

struct BanOptions {
    std::string holder;
    std::string reason;
};

/// Options of `service deny`, `reserve` and `allow`.
struct ServiceRuleOptions {
    std::string name;
    std::string identity;  ///< empty: every identity
    std::string reason;
};

struct DiscoverOptions {
    std::string name;  ///< or a glob; empty: all
    bool watch = false;
};

/// Options of the `agent` commands.
struct AgentArguments {
    std::string id;
    std::string priority;  ///< empty or `now`: the server chooses
    std::optional<std::uint64_t> epoch;
};

/// Options of `mcp`.
struct McpOptions {
    std::string holder;      ///< empty: work_tree_identity()
    std::string name_space;  ///< empty: work_tree_identity()
    std::string root;        ///< empty: the work tree it is started in
    std::string priority;    ///< empty: a plain holder
};

/// Options of `guard`.
struct GuardOptions {
    std::string holder;      ///< empty: work_tree_identity()
    std::string name_space;  ///< empty: work_tree_identity()
    bool allow_offline = false;
    std::string hook = "pre-commit";  ///< the git hook whose check is run
    bool force = false;               ///< for `guard install`: existing hooks no longer run
};

/// Options of `own` and `nodes`.
struct OwnOptions {
    std::string redis;     ///< checked; empty: neither given nor set by HOLDFAST_REDIS
    std::string sessions;  ///< a file, or `-`
    bool any_id = false;
    Duration interval = 1s;
    std::size_t jobs = 16;  ///< limit on concurrent polls
    Duration grace = 10s;   ///< for polls in progress, on a stop
    Duration ttl = 30s;     ///< of leases; other timings are in proportion unless given
    std::optional<Duration> renew_every;
    std::optional<Duration> node_ttl;
    std::optional<Duration> heartbeat_every;
    std::optional<Duration> refresh_every;
    std::optional<Duration> restart_wait;
    std::vector<std::string> command;  ///< `{}` in it stands for the session
    bool leave_daemons = false;        ///< as in TakeOptions
    std::string hash = "xxh64";        ///< or fnv1a
};

/// Options of `elect`; those of acquiring the lease are in TakeOptions.
struct ElectOptions {
    std::string group;
};

/// Options of `drone` and its subcommands.
struct DroneArguments {
    std::string controllers;  ///< checked; empty: the server of CommonOptions
    std::string pool = "default";
    std::string id;
    std::size_t capacity = 100;
    std::string state_dir;
    std::string address;  ///< empty: not given
    std::string log_level = "info";
    std::string named;  ///< for `drone drain`
    bool undo = false;
};

/// Options of `backend` and `key`.
struct BackendArguments {
    std::string key;  ///< for `connect`: empty for a random one; for `key bar`
    std::string id;   ///< of a backend, for all but `connect` and `list`
    std::string name_space;
    std::string tag;
    std::string spawn;       ///< a shell's command line
    std::string spawn_file;  ///< JSON, or `-`
    std::string pool, cwd, ready, user;
    std::vector<std::string> env;  ///< NAME=VALUE
    std::optional<std::uint64_t> port;
    std::optional<Duration> max_idle, lifetime, start_timeout, ttl;
    Duration wait = 30s;
    std::string drone, state;  ///< for `list`
    bool watch = false;
    bool hard = false;
};

/// Options of `advertise`.
struct AdvertiseArguments {
    std::string name;
    bool unnamed = false;
    std::string target;  ///< checked
    std::vector<std::string> alpn;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::string address;
    std::string relay;  ///< checked; empty: see relays_of()
    Duration ttl{};     ///< zero: the relay's default
    std::string identity;
    std::size_t streams = 1000;
};

/// Options of `connect`.
struct ServiceConnectArguments {
    std::string name;
    std::string listen;  ///< HOST:PORT; empty: standard input and output
    std::string relay;   ///< checked; empty: see relays_of()
    std::size_t streams = 1000;
};

/// `quorum status`.
struct QuorumOptions {
    bool wait_voting = false;
    Duration timeout = 10min;
};

/// A parsed command line.
struct Arguments {
    std::string command;  ///< `list`, `policy set`, …
    CommonOptions common;
    server::ServeOptions serve;
    TakeOptions take;
    NamedOptions named;
    FilterOptions filter;
    PolicyOptions policy;
    BanOptions ban;  ///< also for `approve` and `deny`
    DiscoverOptions discover;
    ServiceRuleOptions service_rule;
    AgentArguments agent;
    McpOptions mcp;
    GuardOptions guard;
    OwnOptions own;
    ElectOptions elect;
    QuorumOptions quorum;
    DroneArguments drone;
    BackendArguments backend;
    AdvertiseArguments advertise;
    ServiceConnectArguments service_connect;
    std::string identity_file;  ///< for `identity`; empty: the default one
    std::string shell;          ///< for `completion`
};

/// The default holder: `user@host`. The same user on the same machine is the same holder in every command, so that one
/// command can renew and release a lease that another acquired.
std::string default_holder();

/// The command with each `{}` replaced by the value.
std::vector<std::string> with_value(std::vector<std::string> command, const std::string& value);

/// The addresses of the relays, in the order in which they are tried: the given ones, or by default those on the host
/// of each server, at the server's port plus three.
std::vector<client::ServerAddress> relays_of(const std::string& given, const CommonOptions& common);

}  // namespace holdfast::cli
