#include "cli/app_commands.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "base/text.h"
#include "cli/app.h"
#include "client/http_connection.h"
#include "codec/resp/redis_address.h"
#include "discovery/publisher/host_port.h"

namespace holdfast::cli {
namespace {

const std::vector<std::string> predicates{"PROVIDES", "CONSUMES", "MUTATES", "DELETES", "DEPENDS_ON", "RENAMES"};

/// The limit of docs/http-api.md for times given by a client.
constexpr std::uint64_t max_priority = 9'000'000'000'000'000;

class UsageFormatter : public CLI::Formatter {
 public:
    explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
    std::string make_usage(const CLI::App*, std::string) const override { return fmt::format("Usage: {}\n", usage_); }

 private:
    const std::string usage_;
};

CLI::Option* add_priority(CLI::App* command, std::string& target, const std::string& description) {
    const CLI::Validator is_number_or_now{
        [](std::string& text) {
            const auto number = parse_number(text);
            const bool fits = text == "now" || (number && *number <= max_priority);
            return fits ? std::string{} : fmt::format("'{}' is not a priority; give 'now' or a number", text);
        },
        "", "priority"};
    return command->add_option("--priority", target, description)
        ->type_name("now|NUMBER")
        ->check(is_number_or_now)
        ->envname("HOLDFAST_PRIORITY");
}

CLI::Option* add_epoch(CLI::App* command, std::optional<std::uint64_t>& target) {
    return add_number(command, "--epoch", target,
                      "which start of the registered agent this is; refused once a later one was seen")
        ->envname("HOLDFAST_EPOCH");
}

/// Empty if the text names a lease.
std::string why_no_lease(const std::string& text) {
    const std::size_t hash = text.rfind('#');
    const std::string token = hash == std::string::npos ? "" : text.substr(hash + 1);
    if (hash != 0 && parse_number(token)) return "";
    return fmt::format(
        "'{}' names no lease; give it as RESOURCE#TOKEN, as 'holdfast acquire' prints it; 'holdfast list' shows both",
        text);
}

void read_wait(TakeOptions& take, const std::string& text) {
    take.wait_for_ever = text == wait_for_ever;
    take.wait = take.wait_for_ever ? Duration{} : to_duration(text);
}

void add_work_tree_identity(CLI::App* command, std::string& holder, std::string& name_space) {
    add_text(command, "--holder", holder, "the holder; default: git config holdfast.holder, else user@host")
        ->envname("HOLDFAST_HOLDER");
    add_text(command, "--namespace", name_space, "the namespace; default: git config holdfast.namespace, else default")
        ->envname("HOLDFAST_NAMESPACE");
}

void add_take_options(CLI::App* command, TakeOptions& take) {
    const bool in_work_tree = command->get_name() == "acquire";  // the others run services, not edits of files
    command->add_option("RESOURCE", take.resources, "a resource to acquire; all are granted or none is")->required();
    add_text(command, "--predicate", take.predicate, "what you will do with the resource; MUTATES is a plain lock")
        ->check(CLI::IsMember(predicates))
        ->envname("HOLDFAST_PREDICATE");
    command
        ->add_option_function<std::string>(
            "--wait", [&take](const std::string& text) { read_wait(take, text); },
            "wait if another holder has it: without limit (--wait), or for this long (--wait=30s)")
        ->type_name("[DURATION]")
        ->envname("HOLDFAST_WAIT");
    add_duration(command, "--ttl", take.ttl, "how long the lease lasts without renewal; default: the policy's")
        ->envname("HOLDFAST_TTL");
    add_text(command, "--reason", take.reason, "why you hold it; shown to those who are refused because of it")
        ->envname("HOLDFAST_REASON");
    if (in_work_tree) {
        add_work_tree_identity(command, take.holder, take.name_space);
    } else {
        add_text(command, "--namespace", take.name_space, "the namespace of the resources")
            ->envname("HOLDFAST_NAMESPACE");
        add_text(command, "--holder", take.holder, "the holder; default: user@host")->envname("HOLDFAST_HOLDER");
    }
    add_text(command, "--session", take.session,
             "the session of the holder; a holder's leases of one session never conflict; default: a new session")
        ->envname("HOLDFAST_SESSION");
    add_priority(command, take.priority, "first register the holder as an agent with this priority; lower is older");
    add_epoch(command, take.epoch);
}

void add_serve(CLI::App& app, Arguments& arguments) {
    add_serve_options(add_command(app, arguments, "serve", "run the server, which grants leases"), arguments.serve);
}

void add_named(CLI::App& app, Arguments& arguments) {
    NamedOptions& named = arguments.named;
    const CLI::Validator is_lease{[](const std::string& text) { return why_no_lease(text); }, "", "lease"};
    const auto add_leases = [&](CLI::App* command) {
        return command->add_option("LEASE", named.leases, "a lease, as acquire printed it: RESOURCE#TOKEN")
            ->check(is_lease);
    };
    const auto add_holder = [&](CLI::App* command) {
        return add_text(command, "--holder", named.holder,
                        "the holder of the leases; default: git config holdfast.holder, else user@host")
            ->envname("HOLDFAST_HOLDER");
    };
    CLI::App* renew = add_command(app, arguments, "renew", "extend leases from now");
    add_leases(renew);
    add_holder(renew);
    add_duration(renew, "--ttl", named.ttl, "the new TTL, from now; default: unchanged")->envname("HOLDFAST_TTL");
    renew->add_flag("--all", named.all, "all leases of the holder")->envname("HOLDFAST_RENEW_ALL");
    add_number(renew, "--progress", named.progress,
               "how far the work has come: a number that must rise if the policy limits idle time")
        ->envname("HOLDFAST_RENEW_PROGRESS");
    add_epoch(renew, named.epoch);
    CLI::App* release =
        add_command(app, arguments, "release", "release leases; one that has already ended is no error");
    add_leases(release);
    add_holder(release);
    release->add_flag("--all", named.all, "all leases of the holder")->envname("HOLDFAST_RELEASE_ALL");
    add_epoch(release, named.epoch);
    add_text(release, "--session", named.session,
             "the session that a leader:GROUP lease was acquired in, which proves that it is yours")
        ->envname("HOLDFAST_SESSION");
    CLI::App* verify =
        add_command(app, arguments, "verify", "ask the server whether leases are active; exit code 0 if all are");
    add_leases(verify);
    add_text(verify, "--holder", named.holder, "all leases of this holder")->envname("HOLDFAST_VERIFY_HOLDER");
    add_epoch(verify, named.epoch)->envname("HOLDFAST_VERIFY_EPOCH");
    add_leases(add_command(app, arguments, "revoke",
                           "end leases now, whoever holds them; the holder of a key or a leadership stops first"))
        ->required();
    add_leases(add_command(app, arguments, "bar", "let leases run out: refuse to renew them"))->required();
}

void add_filters(CLI::App* command, FilterOptions& filter, const std::string& prefix) {
    add_text(command, "--holder", filter.holder, "only leases of this holder")->envname(prefix + "_HOLDER");
    add_text(command, "--prefix", filter.prefix, "only resources whose names start with this")
        ->envname(prefix + "_PREFIX");
    add_text(command, "--namespace", filter.name_space, "only in this namespace")->envname(prefix + "_NAMESPACE");
}

void add_agents(CLI::App& app, Arguments& arguments) {
    CLI::App* agent =
        add_command(app, arguments, "agent", "registered holders, ordered by age; without a subcommand, list them");
    agent->require_subcommand(0, 1);
    AgentArguments& options = arguments.agent;
    const auto add = [&](const std::string& name, const std::string& description) {
        CLI::App* command = add_command(*agent, arguments, name, description);
        command->add_option("ID", options.id, "the agent: the name of a holder")->required();
        return command;
    };
    CLI::App* registration = add("register", "register an agent, or update it");
    add_priority(registration, options.priority, "its age; lower is older; default: unchanged, or now for a new agent");
    add_epoch(registration, options.epoch);
    add("show", "show an agent and what it waits for");
    add_command(*agent, arguments, "list", "show all agents");
    add_epoch(add("restarting", "announce a restart of the agent: its leases stay reserved for it"), options.epoch);
    add("forget", "remove an agent that neither holds nor waits for anything");
}

void add_mcp(CLI::App& app, Arguments& arguments) {
    CLI::App* mcp =
        add_command(app, arguments, "mcp", "give leases to a coding agent: an MCP server on standard input and output");
    McpOptions& options = arguments.mcp;
    add_work_tree_identity(mcp, options.holder, options.name_space);
    mcp->add_option("--root", options.root,
                    "the directory that paths are relative to; default: the current git work tree")
        ->type_name("DIR")
        ->envname("HOLDFAST_ROOT");
    add_priority(mcp, options.priority, "register as an agent with this priority; lower is older");
}

void add_guard(CLI::App& app, Arguments& arguments) {
    CLI::App* guard =
        add_command(app, arguments, "guard", "refuse git commits of files that the committer holds no lease on");
    guard->require_subcommand(0, 1);
    GuardOptions& options = arguments.guard;
    const auto add_check_options = [&options](CLI::App* command) {
        add_work_tree_identity(command, options.holder, options.name_space);
        command->add_flag("--allow-offline", options.allow_offline, "allow the commit if no server answers")
            ->envname("HOLDFAST_ALLOW_OFFLINE");
        command
            ->add_option("--hook", options.hook,
                         "check what git passes to this hook; default: pre-commit, which checks the staged files")
            ->type_name("HOOK")
            ->check(CLI::IsMember({"pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"}));
    };
    add_check_options(guard);
    add_check_options(add_command(*guard, arguments, "check", "check the staged files, as the hook does"));
    add_command(*guard, arguments, "install",
                "install it as a hook of this repository, run before commits, merges, pushes and moves of branches")
        ->add_flag("--force", options.force, "do not run existing hooks any more; otherwise they run first")
        ->envname("HOLDFAST_GUARD_FORCE");
    add_command(*guard, arguments, "uninstall", "remove the hooks, and restore those that were there before");
}

void add_sessions(CLI::App* command, OwnOptions& own) {
    add_text(command, "--redis", own.redis,
             "the Redis or RESP server that all instances use; default: redis://127.0.0.1:7401")
        ->type_name("URL")
        ->check(parsed_by(codec::resp::parse_redis, "redis"))
        ->envname("HOLDFAST_REDIS");
    command->add_flag("--any-id", own.any_id, "allow session ids that are not UUIDs")->envname("HOLDFAST_OWN_ANY_ID");
    command
        ->add_option(
            "--hash", own.hash,
            "the hash that selects the preferred owner of a session, the same for all instances; fnv1a is for fleets "
            "with other programs that use it")
        ->check(CLI::IsMember({"xxh64", "fnv1a"}))
        ->capture_default_str()
        ->envname("HOLDFAST_OWN_HASH");
}

void add_own(CLI::App& app, Arguments& arguments) {
    OwnOptions& own = arguments.own;
    CLI::App* command = add_command(app, arguments, "own", "poll the sessions that this instance owns, and only those");
    set_usage(command, "holdfast own --sessions FILE [OPTIONS] -- COMMAND [ARGUMENT...] {}");
    command->add_option("--sessions", own.sessions, "a file with one session id per line, or - for standard input")
        ->type_name("FILE")
        ->required()
        ->envname("HOLDFAST_OWN_SESSIONS");
    add_sessions(command, own);
    const auto add_time = [&](const std::string& name, auto& target, const std::string& description) {
        std::string variable = "HOLDFAST_OWN_";
        for (const char c : name.substr(2))
            variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        return add_duration(command, name, target, description)->envname(variable);
    };
    add_time("--interval", own.interval, "the time from the start of one poll of a session to the next")
        ->default_str("1s");
    add_count(command, own.jobs, {"--jobs", "the largest number of concurrent polls", 1000})
        ->envname("HOLDFAST_OWN_JOBS");
    add_time("--grace", own.grace, "how long running polls may take to finish after a signal to stop")
        ->default_str("10s");
    add_leave_daemons(command, own.leave_daemons)->envname("HOLDFAST_OWN_LEAVE_DAEMONS");
    add_time("--ttl", own.ttl, "how long a session stays owned without renewal")->default_str("30s");
    add_time("--renew-every", own.renew_every, "how often to renew; default: a third of the TTL");
    add_time("--node-ttl", own.node_ttl, "how long an instance counts as live after a heartbeat; default: the TTL");
    add_time("--heartbeat-every", own.heartbeat_every, "how often to send a heartbeat; default: a third of that");
    add_time("--refresh-every", own.refresh_every,
             "how often to read the list of live instances; default: a third of --node-ttl");
    add_time(
        "--restart-wait", own.restart_wait,
        "how long to take no sessions after Redis was restarted, since it may have lost its keys; default: the TTL");
    CLI::App* nodes = add_command(app, arguments, "nodes",
                                  "show the instances, and the owner and the preferred owner of each session");
    add_sessions(nodes, own);
    nodes
        ->add_option("--sessions", own.sessions,
                     "show these sessions, even if they are free; default: all that are owned")
        ->type_name("FILE")
        ->envname("HOLDFAST_OWN_SESSIONS");
}

void add_backends(CLI::App& app, Arguments& arguments) {
    BackendArguments& options = arguments.backend;
    CLI::App* backend =
        add_command(app, arguments, "backend", "the processes that serve keys; without a subcommand, list them");
    backend->require_subcommand(0, 1);
    add_connect_options(add_command(*backend, arguments, "connect",
                                    "print the address of a key's backend, which is started if there is none"),
                        options);
    add_backend_list_options(add_command(*backend, arguments, "list", "list the backends"), options);
    add_backend_id(add_command(*backend, arguments, "show", "show a backend and how it ended"), options);
    CLI::App* status = add_command(*backend, arguments, "status", "show the state of a backend");
    add_backend_id(status, options);
    status->add_flag("--watch", options.watch, "show each change too, until the backend has ended")
        ->envname("HOLDFAST_BACKEND_WATCH");
    CLI::App* terminate = add_command(*backend, arguments, "terminate", "stop a backend; this frees its key");
    add_backend_id(terminate, options);
    terminate->add_flag("--hard", options.hard, "kill it instead of asking it to stop")
        ->envname("HOLDFAST_BACKEND_HARD");
    CLI::App* key =
        add_command(app, arguments, "key", "names that at most one backend serves; without a subcommand, list them");
    key->require_subcommand(0, 1);
    add_text(add_command(*key, arguments, "list", "list the keys that are held"), "--namespace", options.name_space,
             "only in this namespace")
        ->envname("HOLDFAST_KEY_LIST_NAMESPACE");
    add_key_bar_options(
        add_command(*key, arguments, "bar", "let a key run out: refuse to renew it; its backend ends before that"),
        options);
}

void add_publishing(CLI::App& app, Arguments& arguments) {
    CLI::App* identity =
        add_command(app, arguments, "identity", "the signing key of a publisher; without a subcommand, show it");
    identity->require_subcommand(0, 1);
    add_identity_file(add_command(*identity, arguments, "new", "create one"), arguments.identity_file);
    add_identity_file(add_command(*identity, arguments, "show", "show its id and public key"), arguments.identity_file);
    add_advertise_options(
        add_command(app, arguments, "advertise", "publish a service under a name, reachable through the relay"),
        arguments.advertise);
    add_service_connect_options(add_command(app, arguments, "connect", "connect to a service by its name"),
                                arguments.service_connect);
}

}  // namespace

CLI::App* add_command(CLI::App& app, Arguments& arguments, const std::string& name, const std::string& description) {
    CLI::App* command = app.add_subcommand(name, description);
    const std::string full = app.get_parent() == nullptr ? name : fmt::format("{} {}", app.get_name(), name);
    // Not the final callback: with that, the parser would read the environment for the options of every command,
    // including those not typed, and where two share a value the last one would override the command line.
    command->parse_complete_callback([&arguments, full] {
        if (arguments.command.empty()) arguments.command = full;  // the innermost comes first
    });
    return command;
}

CLI::Option* add_number(CLI::App* command, const std::string& name, std::optional<std::uint64_t>& target,
                        const std::string& description) {
    const auto read = [&target](const std::string& text) {
        target = parse_number(text);
        if (!target) throw CLI::ValidationError(fmt::format("'{}' is not a number", text));
    };
    return command->add_option_function<std::string>(name, read, description)->type_name("NUMBER");
}

CLI::Validator server_list() {
    const auto complete = [](std::string& urls) {
        const auto servers = client::parse_servers(urls);
        if (servers) urls = *servers;
        return servers ? std::string{} : servers.error().message;
    };
    return {complete, "", "server"};
}

CLI::Option* add_count(CLI::App* command, std::size_t& target, const CountOption& option) {
    return command->add_option(option.name, target, option.description)
        ->check(CLI::Range(std::size_t{1}, option.max))
        ->type_name("NUMBER")
        ->capture_default_str();
}

void add_log_level(CLI::App* command, std::string& target) {
    add_text(command, "--log-level", target, "the least severe messages to log")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
        ->capture_default_str()
        ->envname("HOLDFAST_LOG_LEVEL");
}

CLI::Option* add_leave_daemons(CLI::App* command, bool& target) {
    return command->add_flag("--leave-daemons", target,
                             "when the command has ended, let processes that left its process group continue without "
                             "the lease; default: stop them first");
}

void add_relay(CLI::App* command, std::string& relay) {
    command
        ->add_option("--relay", relay,
                     "the relay, or several, tried in this order; default: the hosts of --server, at the server's port "
                     "plus three")
        ->type_name("HOST[:PORT][,...]")
        ->check(parsed_by(discovery::publisher::parse_relays, "relay"))
        ->envname("HOLDFAST_RELAY_SERVER");
}

CLI::Option* add_streams(CLI::App* command, std::size_t& streams) {
    return add_count(command, streams, {"--streams", "the largest number of concurrent streams", 10'000});
}

void set_usage(CLI::App* command, const std::string& usage) {
    command->formatter(std::make_shared<UsageFormatter>(usage));
}

void add_common_options(CLI::App& app, CommonOptions& options) {
    app.add_option("--server", options.server,
                   "the server, or several of a cluster separated by commas; default: http://127.0.0.1:7400")
        ->type_name("URL[,URL...]")
        ->transform(server_list())
        ->envname("HOLDFAST_SERVER");
    app.add_flag("--json", options.json, "print JSON, one object per line")->envname("HOLDFAST_JSON");
    app.add_flag("--quiet", options.quiet, "print no notes on standard error, only errors")->envname("HOLDFAST_QUIET");
}

void add_commands(CLI::App& app, Arguments& arguments) {
    add_serve(app, arguments);
    CLI::App* run = add_command(app, arguments, "run",
                                "run a command under leases; it is stopped before they can go to another holder");
    set_usage(run, "holdfast run RESOURCE... [OPTIONS] -- COMMAND [ARGUMENT...]");
    add_take_options(run, arguments.take);
    add_leave_daemons(run, arguments.take.leave_daemons)->envname("HOLDFAST_LEAVE_DAEMONS");
    CLI::App* acquire = add_command(app, arguments, "acquire", "acquire leases, which run out unless they are renewed");
    add_take_options(acquire, arguments.take);
    add_named(app, arguments);
    add_filters(add_command(app, arguments, "list", "list the active leases"), arguments.filter, "HOLDFAST_LIST");
    CLI::App* watch = add_command(app, arguments, "watch", "show events of leases as they happen");
    add_filters(watch, arguments.filter, "HOLDFAST_WATCH");
    watch->add_flag("--renewed", arguments.filter.renewed, "also show renewals")->envname("HOLDFAST_WATCH_RENEWED");
    add_admin_commands(app, arguments);
    add_agents(app, arguments);
    add_mcp(app, arguments);
    add_guard(app, arguments);
    add_own(app, arguments);
    CLI::App* drone = add_command(app, arguments, "drone", "run backends on this machine, each under its key");
    drone->require_subcommand(0, 1);
    add_drone_options(drone, arguments.drone);
    add_command(*drone, arguments, "list", "list the drones");
    add_drone_drain_options(add_command(*drone, arguments, "drain", "give a drone no new work"), arguments.drone);
    add_backends(app, arguments);
    add_publishing(app, arguments);
    CLI::App* discover = add_command(app, arguments, "discover", "list the advertised services");
    discover->add_option("NAME", arguments.discover.name, "only the service with this name, or those that match a glob")
        ->type_name("NAME|GLOB");
    discover->add_flag("--watch", arguments.discover.watch, "then show each change, until a signal arrives")
        ->envname("HOLDFAST_DISCOVER_WATCH");
    add_elect_options(add_command(app, arguments, "elect",
                                  "run a command while this holder leads a group; without a command, show who leads"),
                      arguments);
    CLI::App* quorum = add_command(app, arguments, "quorum", "the cluster; without a subcommand, show its status");
    quorum->require_subcommand(0, 1);
    CLI::App* status =
        add_command(*quorum, arguments, "status",
                    "show the members, which of them are connected, vote and lead; exit code 0 if a majority votes");
    status
        ->add_flag("--wait-voting", arguments.quorum.wait_voting,
                   "first wait until every member is connected and votes; exit code 1 if that takes too long")
        ->envname("HOLDFAST_QUORUM_WAIT_VOTING");
    add_duration(status, "--timeout", arguments.quorum.timeout, "the limit of that wait; default: 10m")
        ->envname("HOLDFAST_QUORUM_TIMEOUT");
    CLI::App* store =
        add_command(app, arguments, "store", "where the leases are kept; without a subcommand, show its status");
    store->require_subcommand(0, 1);
    add_command(*store, arguments, "status",
                "show the store, and whether leases can be granted; exit code 0 if they can, 108 if not now");
    add_command(app, arguments, "health", "show the health of the server");
    add_command(app, arguments, "completion", "print the completion script for a shell")
        ->add_option("SHELL", arguments.shell, "the shell")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    add_command(app, arguments, "version", "show the version");
}

}  // namespace holdfast::cli
