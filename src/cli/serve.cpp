#include "cli/app_commands.h"
#include "cli/commands.h"
#include "server/server.h"

namespace holdfast::cli {
namespace {

/// The options of a cluster node.
void add_cluster(CLI::App* serve, server::ServeOptions& options) {
    add_text(serve, "--node", options.node, "the id of this member of a cluster")
        ->type_name("ID")
        ->envname("HOLDFAST_NODE");
    add_text(serve, "--peers", options.peers,
             "all members of the cluster, including this one; the same on each of them")
        ->type_name("ID=HOST:PORT,...")
        ->envname("HOLDFAST_PEERS");
    add_text(
        serve, "--store", options.store,
        "the engine that keeps the leases, shared by many servers: redis://…, postgres://…, etcd://… (docs/stores.md); "
        "default: this server keeps them")
        ->type_name("URL")
        ->envname("HOLDFAST_STORE");
    serve
        ->add_flag(
            "--new-store", options.new_store,
            "an empty store was never used; without this, a server that finds a store empty, and does not know it, "
            "grants nothing for the longest TTL")
        ->envname("HOLDFAST_NEW_STORE");
    add_text(serve, "--peer", options.peer,
             "the address to listen on for the other members; default: the one in --peers")
        ->type_name("HOST:PORT")
        ->envname("HOLDFAST_PEER");
    add_text(serve, "--cluster-secret-file", options.cluster_secret_file,
             "the file with the secret of the cluster; default: the variable HOLDFAST_CLUSTER_SECRET")
        ->type_name("FILE")
        ->envname("HOLDFAST_CLUSTER_SECRET_FILE");
    add_duration(serve, "--longest-ttl", options.longest_ttl,
                 "the longest TTL that any member grants; the same on each of them")
        ->default_str("5min")
        ->envname("HOLDFAST_LONGEST_TTL");
    serve
        ->add_option("--rho", options.rho,
                     "by how much the rates of the members' clocks may differ; the same on each of them")
        ->check(CLI::Range(0.0, 0.2))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname("HOLDFAST_RHO");
}

CLI::Option* add_size(CLI::App* serve, const std::string& name, std::uint64_t& target, const std::string& description) {
    return serve->add_option(name, target, description)->transform(CLI::AsSizeValue(false))->type_name("BYTES");
}

/// The options of the relay.
void add_relay_door(CLI::App* serve, server::ServeOptions& options) {
    add_text(serve, "--relay", options.relay,
             "the address for publishers and consumers of services, or off; default: three ports above --http, "
             "127.0.0.1:7403")
        ->type_name("HOST:PORT|off")
        ->envname("HOLDFAST_RELAY");
    add_text(serve, "--relay-address", options.relay_address,
             "the relay address that consumers are given; default: the one that --relay is bound to")
        ->type_name("HOST:PORT")
        ->envname("HOLDFAST_RELAY_ADDRESS");
    add_count(serve, options.relay_streams_per_service,
              {"--relay-streams-per-service", "the largest number of concurrent streams of one service", 10'000})
        ->envname("HOLDFAST_RELAY_STREAMS_PER_SERVICE");
    add_count(serve, options.relay_streams_per_identity,
              {"--relay-streams-per-identity",
               "the largest number of concurrent streams to all services of one identity", 10'000})
        ->envname("HOLDFAST_RELAY_STREAMS_PER_IDENTITY");
    add_size(
        serve, "--relay-rate-per-service", options.relay_rate_per_service,
        "the largest number of bytes per second of one service, in both directions together, such as 512KB or 10MB; "
        "default: no limit")
        ->envname("HOLDFAST_RELAY_RATE_PER_SERVICE");
    add_size(serve, "--relay-rate-per-identity", options.relay_rate_per_identity,
             "the same for all services of one identity")
        ->envname("HOLDFAST_RELAY_RATE_PER_IDENTITY");
}

}  // namespace

void add_serve_options(CLI::App* serve, server::ServeOptions& options) {
    serve->add_option("--http", options.http, "the address to listen on; port 0: a free one")
        ->type_name("HOST:PORT")
        ->capture_default_str()
        ->envname("HOLDFAST_HTTP");
    serve
        ->add_option("--resp", options.resp,
                     "the address for Redis clients, or off; default: one port above --http, 127.0.0.1:7401")
        ->type_name("HOST:PORT|off")
        ->envname("HOLDFAST_RESP");
    serve
        ->add_option("--state-dir", options.state_dir,
                     "the directory of the tokens and the policy, or with --store of what was seen of the store; "
                     "default: in your state "
                     "home")
        ->type_name("DIR")
        ->envname("HOLDFAST_STATE_DIR");
    serve
        ->add_flag("--insecure", options.insecure, "allow addresses other than loopback, although nothing is encrypted")
        ->envname("HOLDFAST_INSECURE");
    serve
        ->add_option(
            "--allow-host", options.allowed_hosts,
            "another host name that HTTP requests may use, besides addresses, localhost and this machine's; may "
            "be repeated")
        ->type_name("NAME")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->envname("HOLDFAST_ALLOW_HOST");
    serve
        ->add_flag(
            "--allow-spawn", options.allow_spawn,
            "let everybody who can reach --http start backends, and so run any command on drones, also beyond loopback")
        ->envname("HOLDFAST_ALLOW_SPAWN");
    serve->add_flag("--try", options.try_hints, "print three commands to try")->envname("HOLDFAST_TRY");
    add_count(serve, options.max_connections,
              {"--max-connections", "the largest number of concurrent connections", 1'000'000})
        ->envname("HOLDFAST_MAX_CONNECTIONS");
    add_size(
        serve, "--max-memory", options.max_memory,
        "the memory that the server may use, such as 512MB; default: half of the machine's, or three quarters of the "
        "limit of its control group")
        ->envname("HOLDFAST_MAX_MEMORY");
    add_duration(serve, "--idle-timeout", options.idle_timeout, "close a connection that is silent for this long")
        ->default_str("60s")
        ->envname("HOLDFAST_IDLE_TIMEOUT");
    add_duration(serve, "--resp-idle-timeout", options.resp_idle_timeout,
                 "the same for the Redis protocol; default: never")
        ->envname("HOLDFAST_RESP_IDLE_TIMEOUT");
    add_duration(serve, "--read-timeout", options.read_timeout,
                 "close a connection whose request or command takes this long to arrive")
        ->default_str("10s")
        ->envname("HOLDFAST_READ_TIMEOUT");
    add_log_level(serve, options.log_level);
    serve->add_flag("--log-json", options.log_json, "log one JSON object per line; the same as --json")
        ->envname("HOLDFAST_LOG_JSON");
    add_relay_door(serve, options);
    add_cluster(serve, options);
}

int serve_command(const Arguments& arguments) {
    server::ServeOptions options = arguments.serve;
    options.log_json = options.log_json || arguments.common.json;
    return server::run_server(options);
}

}  // namespace holdfast::cli
