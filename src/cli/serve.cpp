#include "cli/app_commands.h"
#include "cli/commands.h"
#include "server/server.h"

namespace holdfast {
namespace {

/// The options of a cluster node.
void add_cluster(CLI::App* serve, ServeOptions& options) {
    add_text(serve, "--node", options.node, "which member of a cluster this is")
        ->type_name("ID")
        ->envname("HOLDFAST_NODE");
    add_text(serve, "--peers", options.peers, "all members of the cluster, this one too; the same on each of them")
        ->type_name("ID=HOST:PORT,...")
        ->envname("HOLDFAST_PEERS");
    add_text(
        serve, "--store", options.store,
        "engine that keeps the leases, for many servers: redis://…, postgres://…, etcd://… (docs/stores.md); default "
        "this server does")
        ->type_name("URL")
        ->envname("HOLDFAST_STORE");
    serve
        ->add_flag(
            "--new-store", options.new_store,
            "nothing was ever in the store, if it is empty; without it, a server that does not know its store and "
            "finds it empty grants nothing for the longest TTL")
        ->envname("HOLDFAST_NEW_STORE");
    add_text(serve, "--peer", options.peer, "address to listen on for the other members; default as --peers has it")
        ->type_name("HOST:PORT")
        ->envname("HOLDFAST_PEER");
    add_text(serve, "--cluster-secret-file", options.cluster_secret_file,
             "file with the secret of the cluster; else HOLDFAST_CLUSTER_SECRET has it")
        ->type_name("FILE")
        ->envname("HOLDFAST_CLUSTER_SECRET_FILE");
    add_duration(serve, "--longest-ttl", options.longest_ttl,
                 "no member grants a lease for longer; the same on each of them")
        ->default_str("5min")
        ->envname("HOLDFAST_LONGEST_TTL");
    serve->add_option("--rho", options.rho, "how far the members' clocks may differ in rate; the same on each of them")
        ->check(CLI::Range(0.0, 0.2))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname("HOLDFAST_RHO");
}

CLI::Option* add_size(CLI::App* serve, const std::string& name, std::uint64_t& target, const std::string& description) {
    return serve->add_option(name, target, description)->transform(CLI::AsSizeValue(false))->type_name("BYTES");
}

/// The options of the relay.
void add_relay(CLI::App* serve, ServeOptions& options) {
    add_text(serve, "--relay", options.relay,
             "address for publishers and consumers of services, or off; default three ports above --http: "
             "127.0.0.1:7403")
        ->type_name("HOST:PORT|off")
        ->envname("HOLDFAST_RELAY");
    add_text(serve, "--relay-address", options.relay_address,
             "where consumers are told to ask for services; default as --relay is bound")
        ->type_name("HOST:PORT")
        ->envname("HOLDFAST_RELAY_ADDRESS");
    const auto add_streams = [serve](const std::string& name, std::size_t& target, const std::string& description) {
        return serve->add_option(name, target, description)
            ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
            ->type_name("NUMBER")
            ->capture_default_str();
    };
    add_streams("--relay-streams-per-service", options.relay_streams_per_service, "streams of one service at one time")
        ->envname("HOLDFAST_RELAY_STREAMS_PER_SERVICE");
    add_streams("--relay-streams-per-identity", options.relay_streams_per_identity,
                "streams of all services of one identity at one time")
        ->envname("HOLDFAST_RELAY_STREAMS_PER_IDENTITY");
    add_size(serve, "--relay-rate-per-service", options.relay_rate_per_service,
             "bytes per second of one service, both directions together; 512KB, 10MB; default no limit")
        ->envname("HOLDFAST_RELAY_RATE_PER_SERVICE");
    add_size(serve, "--relay-rate-per-identity", options.relay_rate_per_identity,
             "likewise of all services of one identity")
        ->envname("HOLDFAST_RELAY_RATE_PER_IDENTITY");
}

}  // namespace

void add_serve_options(CLI::App* serve, ServeOptions& options) {
    serve->add_option("--http", options.http, "address to listen on; port 0 for a free one")
        ->type_name("HOST:PORT")
        ->capture_default_str()
        ->envname("HOLDFAST_HTTP");
    serve
        ->add_option("--resp", options.resp,
                     "address for clients of Redis, or off; default one port above --http: 127.0.0.1:7401")
        ->type_name("HOST:PORT|off")
        ->envname("HOLDFAST_RESP");
    serve
        ->add_option(
            "--state-dir", options.state_dir,
            "where tokens and policy are kept, or with --store what was seen of it; default in your state home")
        ->type_name("DIR")
        ->envname("HOLDFAST_STATE_DIR");
    serve->add_flag("--insecure", options.insecure, "allow addresses beyond loopback, though nothing is encrypted")
        ->envname("HOLDFAST_INSECURE");
    serve
        ->add_option("--allow-host", options.allowed_hosts,
                     "a name by which HTTP may be called, besides addresses, localhost and this machine's; may be "
                     "repeated")
        ->type_name("NAME")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->envname("HOLDFAST_ALLOW_HOST");
    serve
        ->add_flag("--allow-spawn", options.allow_spawn,
                   "start backends for whoever can reach --http beyond loopback: they can run any command on drones")
        ->envname("HOLDFAST_ALLOW_SPAWN");
    serve->add_flag("--try", options.try_hints, "print three commands to try")->envname("HOLDFAST_TRY");
    serve->add_option("--max-connections", options.max_connections, "connections at one time")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname("HOLDFAST_MAX_CONNECTIONS");
    add_size(serve, "--max-memory", options.max_memory,
             "memory that the server may take, such as 512MB; default half of the machine, or three quarters of its "
             "control group's limit")
        ->envname("HOLDFAST_MAX_MEMORY");
    add_duration(serve, "--idle-timeout", options.idle_timeout, "close a connection that is silent so long")
        ->default_str("60s")
        ->envname("HOLDFAST_IDLE_TIMEOUT");
    add_duration(serve, "--resp-idle-timeout", options.resp_idle_timeout,
                 "likewise of the Redis protocol; default never")
        ->envname("HOLDFAST_RESP_IDLE_TIMEOUT");
    add_duration(serve, "--read-timeout", options.read_timeout,
                 "close a connection whose request or command takes so long to arrive")
        ->default_str("10s")
        ->envname("HOLDFAST_READ_TIMEOUT");
    add_text(serve, "--log-level", options.log_level, "what to log")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
        ->capture_default_str()
        ->envname("HOLDFAST_LOG_LEVEL");
    serve->add_flag("--log-json", options.log_json, "log one JSON object per line; the same as --json")
        ->envname("HOLDFAST_LOG_JSON");
    add_relay(serve, options);
    add_cluster(serve, options);
}

int serve_command(const Arguments& arguments) {
    ServeOptions options = arguments.serve;
    options.log_json = options.log_json || arguments.common.json;
    return run_server(options);
}

}  // namespace holdfast
