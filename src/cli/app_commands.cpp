#include "cli/app_commands.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/app.h"
#include "cli/mcp/mcp_agent.h"
#include "client/http_connection.h"
#include "codec/resp/redis_address.h"

namespace holdfast {
namespace {

const std::vector<std::string> predicates{"PROVIDES", "CONSUMES", "MUTATES", "DELETES", "DEPENDS_ON", "RENAMES"};

/// The parser never sees the command of `run` and so cannot describe it.
class RunFormatter : public CLI::Formatter {
 public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: holdfast run RESOURCE... [OPTIONS] -- COMMAND [ARGUMENT...]\n";
    }
};

class OwnFormatter : public CLI::Formatter {
 public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: holdfast own --sessions FILE [OPTIONS] -- COMMAND [ARGUMENT...] {}\n";
    }
};

CLI::Option* add_optional_text(CLI::App* command, const std::string& name, std::optional<std::string>& target,
                               const std::string& description) {
    return command
        ->add_option_function<std::string>(
            name, [&target](const std::string& text) { target = text; }, description)
        ->type_name("TEXT");
}

CLI::Option* add_priority(CLI::App* command, std::string& target, const std::string& description) {
    const CLI::Validator is_number_or_now{
        [](std::string& text) { return is_priority(text) ? std::string{} : "a priority is 'now' or a number"; }, "",
        "priority"};
    return command->add_option("--priority", target, description)
        ->type_name("now|NUMBER")
        ->check(is_number_or_now)
        ->envname("HOLDFAST_PRIORITY");
}

/// The parser itself would read -1 as a huge number.
CLI::Option* add_number(CLI::App* command, const std::string& name, std::optional<std::uint64_t>& target,
                        const std::string& description) {
    const auto read = [&target](const std::string& text) {
        target = parse_number(text);
        if (!target) throw CLI::ValidationError("'" + text + "' is not a number");
    };
    return command->add_option_function<std::string>(name, read, description)->type_name("NUMBER");
}

CLI::Option* add_epoch(CLI::App* command, std::optional<std::uint64_t>& target) {
    return add_number(command, "--epoch", target,
                      "which life of a registered agent asks; refused if a later one was seen")
        ->envname("HOLDFAST_EPOCH");
}

CLI::App* add_command(CLI::App& app, Arguments& arguments, const std::string& name, const std::string& description) {
    CLI::App* command = app.add_subcommand(name, description);
    const std::string full = app.get_parent() == nullptr ? name : app.get_name() + " " + name;
    // Not the final callback: with that, the parser would read the environment for the options of every command,
    // including those not typed, and where two share a value the last one would override the command line.
    command->parse_complete_callback([&arguments, full] {
        if (arguments.command.empty()) arguments.command = full;  // the innermost comes first
    });
    return command;
}

/// Empty if the text names a lease.
std::string why_no_lease(const std::string& text) {
    const std::size_t hash = text.rfind('#');
    const std::string token = hash == std::string::npos ? "" : text.substr(hash + 1);
    if (hash != 0 && parse_number(token)) return "";
    return "'" + text +
           "' names no lease; give it as RESOURCE#TOKEN, as 'holdfast acquire' printed it and 'holdfast list' " +
           "shows it";
}

void read_wait(TakeOptions& take, const std::string& text) {
    take.wait_for_ever = text == wait_for_ever;
    take.wait = take.wait_for_ever ? Duration{} : to_duration(text);
}

void add_work_tree_identity(CLI::App* command, std::string& holder, std::string& name_space) {
    add_text(command, "--holder", holder, "who it is; default git config holdfast.holder, else user@host")
        ->envname("HOLDFAST_HOLDER");
    add_text(command, "--namespace", name_space, "the namespace; default git config holdfast.namespace, else default")
        ->envname("HOLDFAST_NAMESPACE");
}

void add_take_options(CLI::App* command, TakeOptions& take) {
    const bool in_work_tree = command->get_name() == "acquire";  // the others run services, not edits of files
    command->add_option("RESOURCE", take.resources, "what to take; all are granted or none is")->required();
    add_text(command, "--predicate", take.predicate, "what to do with it; MUTATES is a plain lock")
        ->check(CLI::IsMember(predicates))
        ->envname("HOLDFAST_PREDICATE");
    command
        ->add_option_function<std::string>(
            "--wait", [&take](const std::string& text) { read_wait(take, text); },
            "wait for a turn if somebody else has it, for ever or for so long (--wait, --wait=30s)")
        ->type_name("[DURATION]")
        ->envname("HOLDFAST_WAIT");
    add_duration(command, "--ttl", take.ttl, "how long the lease lasts without renewal; else the policy's default")
        ->envname("HOLDFAST_TTL");
    add_text(command, "--reason", take.reason, "shown to whoever is refused because of it")->envname("HOLDFAST_REASON");
    if (in_work_tree) {
        add_work_tree_identity(command, take.holder, take.name_space);
    } else {
        add_text(command, "--namespace", take.name_space, "the namespace of the resources")
            ->envname("HOLDFAST_NAMESPACE");
        add_text(command, "--holder", take.holder, "who asks; default user@host")->envname("HOLDFAST_HOLDER");
    }
    add_text(command, "--session", take.session,
             "which part of the holder asks; a holder never conflicts with itself in one session; default a new one")
        ->envname("HOLDFAST_SESSION");
    add_priority(command, take.priority, "register the holder as an agent of this age first; lower is older");
    add_epoch(command, take.epoch);
}

void add_serve(CLI::App& app, Arguments& arguments) {
    add_serve_options(add_command(app, arguments, "serve", "grant leases: run the server"), arguments.serve);
}

void add_named(CLI::App& app, Arguments& arguments) {
    NamedOptions& named = arguments.named;
    const CLI::Validator is_lease{[](const std::string& text) { return why_no_lease(text); }, "", "lease"};
    const auto add_leases = [&](CLI::App* command) {
        return command->add_option("LEASE", named.leases, "a lease as acquire printed it: resource#token")
            ->check(is_lease);
    };
    const auto add_holder = [&](CLI::App* command) {
        return add_text(command, "--holder", named.holder,
                        "whose it is; default git config holdfast.holder, else user@host")
            ->envname("HOLDFAST_HOLDER");
    };
    CLI::App* renew = add_command(app, arguments, "renew", "extend leases from now");
    add_leases(renew);
    add_holder(renew);
    add_duration(renew, "--ttl", named.ttl, "how long from now; else as before")->envname("HOLDFAST_TTL");
    renew->add_flag("--all", named.all, "every lease of the holder")->envname("HOLDFAST_RENEW_ALL");
    add_number(renew, "--progress", named.progress,
               "how far the work has come: a number that rises, against idle limits")
        ->envname("HOLDFAST_RENEW_PROGRESS");
    add_epoch(renew, named.epoch);
    CLI::App* release =
        add_command(app, arguments, "release", "give leases back; those that ended already are no error");
    add_leases(release);
    add_holder(release);
    release->add_flag("--all", named.all, "every lease of the holder")->envname("HOLDFAST_RELEASE_ALL");
    add_epoch(release, named.epoch);
    add_text(release, "--session", named.session,
             "the session that a leader:GROUP lease was acquired with, which proves that it is yours")
        ->envname("HOLDFAST_SESSION");
    CLI::App* verify = add_command(app, arguments, "verify", "the truth about leases; 0 if all are active");
    add_leases(verify);
    add_text(verify, "--holder", named.holder, "every lease of this holder")->envname("HOLDFAST_VERIFY_HOLDER");
    add_epoch(verify, named.epoch)->envname("HOLDFAST_VERIFY_EPOCH");
    add_leases(add_command(app, arguments, "revoke",
                           "end leases now, whoever holds them; keys, services and leaders stop first"))
        ->required();
    add_leases(add_command(app, arguments, "bar", "let leases run out: refuse their renewal"))->required();
}

void add_filters(CLI::App* command, FilterOptions& filter, const std::string& prefix) {
    add_text(command, "--holder", filter.holder, "only of this holder")->envname(prefix + "_HOLDER");
    add_text(command, "--prefix", filter.prefix, "only resources that start like this")->envname(prefix + "_PREFIX");
    add_text(command, "--namespace", filter.name_space, "only in this namespace")->envname(prefix + "_NAMESPACE");
}

void add_policy(CLI::App& app, Arguments& arguments) {
    CLI::App* policy = add_command(app, arguments, "policy", "what may be asked for; without more, show it");
    policy->require_subcommand(0, 1);
    add_command(*policy, arguments, "get", "show the policy");
    CLI::App* set = add_command(*policy, arguments, "set", "change the policy; what is not named stays");
    PolicyOptions& options = arguments.policy;
    add_duration(set, "--ttl-min", options.ttl_min, "the shortest TTL; less is refused")
        ->envname("HOLDFAST_POLICY_TTL_MIN");
    add_duration(set, "--ttl-max", options.ttl_max, "the longest TTL")->envname("HOLDFAST_POLICY_TTL_MAX");
    add_duration(set, "--ttl-default", options.ttl_default, "the TTL of who asks for none")
        ->envname("HOLDFAST_POLICY_TTL_DEFAULT");
    add_optional_text(set, "--ttl-over-max", options.ttl_over_max, "what becomes of a TTL above the longest")
        ->check(CLI::IsMember({"cut", "reject"}))
        ->envname("HOLDFAST_POLICY_TTL_OVER_MAX");
    add_duration(set, "--wait-max", options.wait_max, "the longest wait for a turn in one request")
        ->envname("HOLDFAST_POLICY_WAIT_MAX");
    add_optional_text(set, "--name-pattern", options.name_pattern,
                      "RE2 pattern that a whole name must match, of a resource or a service; empty for any")
        ->envname("HOLDFAST_POLICY_NAME_PATTERN");
    add_duration(set, "--hold-max", options.hold_max,
                 "how long one holder may keep one resource, letting go or not; 0s for no limit")
        ->envname("HOLDFAST_POLICY_HOLD_MAX");
    add_duration(set, "--idle-max", options.idle_max, "how long a progress counter may stand still; 0s for no limit")
        ->envname("HOLDFAST_POLICY_IDLE_MAX");
    add_number(set, "--leases-per-holder-max", options.leases_per_holder_max,
               "how many leases one holder may have; 0 for any number")
        ->envname("HOLDFAST_POLICY_LEASES_PER_HOLDER_MAX");
    add_optional_text(set, "--approval", options.approval, "of publishers of services: manual for approved ones only")
        ->check(CLI::IsMember({"auto", "manual"}))
        ->envname("HOLDFAST_POLICY_APPROVAL");
}

void add_bans(CLI::App& app, Arguments& arguments) {
    CLI::App* ban =
        add_command(app, arguments, "ban", "refuse a holder its next acquire and its next renewal; hide its services");
    ban->add_option("HOLDER", arguments.ban.holder, "whom: a holder, an identity, an IP address or a prefix")
        ->required();
    add_text(ban, "--reason", arguments.ban.reason, "why")->envname("HOLDFAST_BAN_REASON");
    CLI::App* unban = add_command(app, arguments, "unban", "let a holder back in");
    unban->add_option("HOLDER", arguments.ban.holder, "whom, as for ban")->required();
    add_command(app, arguments, "bans", "show who is banned");
    const auto add_identity = [&](CLI::App* command) {
        command->add_option("IDENTITY", arguments.ban.holder, "whom, as 'holdfast identity show' says")->required();
    };
    add_identity(add_command(app, arguments, "approve", "let a publisher advertise services"));
    add_identity(add_command(app, arguments, "deny", "ban a publisher, and take its approval back"));
    add_command(app, arguments, "approvals", "show which publishers wait for approval, and which have it");
    add_command(app, arguments, "audit", "show what admins did, and who they were");
}

void add_service_rules(CLI::App& app, Arguments& arguments) {
    CLI::App* service =
        add_command(app, arguments, "service", "who may have which service's name; alone, lists the rules");
    service->require_subcommand(0, 1);
    ServiceRuleOptions& options = arguments.service_rule;
    const auto add = [&](const std::string& verb, const std::string& description, const std::string& whom) {
        CLI::App* command = add_command(*service, arguments, verb, description);
        command->add_option("NAME", options.name, "of the service")->required();
        return command->add_option("--identity", options.identity, whom)->type_name("ID");
    };
    const auto add_reason = [&](CLI::App* command) {
        add_text(command, "--reason", options.reason, "why; its publisher is told")->envname("HOLDFAST_SERVICE_REASON");
    };
    add_command(*service, arguments, "rules", "show which names are denied or reserved");
    add("deny", "take a name from an identity, or from everybody", "from whom; default from everybody");
    add_reason(service->get_subcommand("deny"));
    add("reserve", "keep a name for an identity", "for whom")->required();
    add_reason(service->get_subcommand("reserve"));
    add("allow", "lift what deny and reserve said about a name", "of whom; default all that was said about the name");
}

void add_agents(CLI::App& app, Arguments& arguments) {
    CLI::App* agent =
        add_command(app, arguments, "agent", "holders with a place in the order of age; without more, list them");
    agent->require_subcommand(0, 1);
    AgentArguments& options = arguments.agent;
    const auto add = [&](const std::string& name, const std::string& description) {
        CLI::App* command = add_command(*agent, arguments, name, description);
        command->add_option("ID", options.id, "the agent: a holder's name")->required();
        return command;
    };
    CLI::App* enrol = add("register", "register an agent, or bring it up to date");
    add_priority(enrol, options.priority, "its age; lower is older; default what it was, else now");
    add_epoch(enrol, options.epoch);
    add("show", "show an agent and what it waits for");
    add_command(*agent, arguments, "list", "show all agents");
    add_epoch(add("restarting", "say that the agent is about to restart: what it has stays reserved for it"),
              options.epoch);
    add("forget", "remove an agent that holds and waits for nothing");
}

void add_mcp(CLI::App& app, Arguments& arguments) {
    CLI::App* mcp =
        add_command(app, arguments, "mcp", "give leases to a coding agent: an MCP server on standard input");
    McpOptions& options = arguments.mcp;
    add_work_tree_identity(mcp, options.holder, options.name_space);
    mcp->add_option("--root", options.root, "what paths are relative to; default the git work tree here")
        ->type_name("DIR")
        ->envname("HOLDFAST_ROOT");
    add_priority(mcp, options.priority, "register as an agent of this age; lower is older");
}

void add_guard(CLI::App& app, Arguments& arguments) {
    CLI::App* guard =
        add_command(app, arguments, "guard", "refuse git commits of files that the committer does not hold");
    guard->require_subcommand(0, 1);
    GuardOptions& options = arguments.guard;
    const auto add_check_options = [&options](CLI::App* command) {
        add_work_tree_identity(command, options.holder, options.name_space);
        command->add_flag("--allow-offline", options.allow_offline, "let the commit pass if no server answers")
            ->envname("HOLDFAST_ALLOW_OFFLINE");
        command
            ->add_option("--hook", options.hook,
                         "check what this hook of git is asked about; default pre-commit, which is what is staged")
            ->type_name("HOOK")
            ->check(CLI::IsMember({"pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"}));
    };
    add_check_options(guard);
    add_check_options(add_command(*guard, arguments, "check", "check what is staged, as the hook does"));
    add_command(*guard, arguments, "install",
                "make it a hook of this repository, before commits, merges, pushes and moves of branches")
        ->add_flag("--force", options.force, "hooks that are there do not run any more; else they run first")
        ->envname("HOLDFAST_GUARD_FORCE");
    add_command(*guard, arguments, "uninstall", "take the hooks away, and put back those that were there");
}

void add_sessions(CLI::App* command, OwnOptions& own) {
    const CLI::Validator is_redis{[](std::string& url) {
                                      const auto address = parse_redis(url);
                                      return address ? std::string{} : address.error().message;
                                  },
                                  "", "redis"};
    add_text(command, "--redis", own.redis,
             "where instances meet; default Holdfast's RESP door, redis://127.0.0.1:7401")
        ->type_name("URL")
        ->check(is_redis)
        ->envname("HOLDFAST_REDIS");
    command->add_flag("--any-id", own.any_id, "session ids need not be UUIDs")->envname("HOLDFAST_OWN_ANY_ID");
    command
        ->add_option(
            "--hash", own.hash,
            "what finds the preferred owner of a session; the same for all instances. fnv1a is for fleets with "
            "programs that use it")
        ->check(CLI::IsMember({"xxh64", "fnv1a"}))
        ->capture_default_str()
        ->envname("HOLDFAST_OWN_HASH");
}

void add_own(CLI::App& app, Arguments& arguments) {
    OwnOptions& own = arguments.own;
    CLI::App* command = add_command(app, arguments, "own", "poll the sessions that this instance owns, and only those");
    command->formatter(std::make_shared<OwnFormatter>());
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
    add_time("--interval", own.interval, "from the start of one poll of a session to the next")->default_str("1s");
    command->add_option("--jobs", own.jobs, "polls at one time")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1000}))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname("HOLDFAST_OWN_JOBS");
    add_time("--grace", own.grace, "for polls in hand, when told to stop")->default_str("10s");
    add_leave_daemons(command, own.leave_daemons)->envname("HOLDFAST_OWN_LEAVE_DAEMONS");
    add_time("--ttl", own.ttl, "how long a session stays owned without renewal")->default_str("30s");
    add_time("--renew-every", own.renew_every, "default a third of the TTL");
    add_time("--node-ttl", own.node_ttl, "how long an instance counts as live; default the TTL");
    add_time("--heartbeat-every", own.heartbeat_every, "default a third of that");
    add_time("--refresh-every", own.refresh_every, "how often to read the list of live instances; default likewise");
    add_time("--restart-wait", own.restart_wait,
             "how long after a Redis was started nothing is taken, since it may have lost its keys; default the TTL");
    CLI::App* nodes = add_command(app, arguments, "nodes", "show instances, and who owns and should own which session");
    add_sessions(nodes, own);
    nodes->add_option("--sessions", own.sessions, "show these sessions, also free ones; default all that are owned")
        ->type_name("FILE")
        ->envname("HOLDFAST_OWN_SESSIONS");
}

void add_backends(CLI::App& app, Arguments& arguments) {
    BackendArguments& options = arguments.backend;
    CLI::App* backend = add_command(app, arguments, "backend", "the process of a key; without more, list them");
    backend->require_subcommand(0, 1);
    add_connect_options(
        add_command(*backend, arguments, "connect", "the address of a key's backend; starts one if there is none"),
        options);
    add_backend_list_options(add_command(*backend, arguments, "list", "show the backends"), options);
    add_backend_id(add_command(*backend, arguments, "show", "show a backend and how it ended"), options);
    CLI::App* status = add_command(*backend, arguments, "status", "show the state of a backend");
    add_backend_id(status, options);
    status->add_flag("--watch", options.watch, "and each change, until it has ended")
        ->envname("HOLDFAST_BACKEND_WATCH");
    CLI::App* terminate = add_command(*backend, arguments, "terminate", "have a backend stopped; its key is free then");
    add_backend_id(terminate, options);
    terminate->add_flag("--hard", options.hard, "kill it instead of asking it to stop")
        ->envname("HOLDFAST_BACKEND_HARD");
    CLI::App* key = add_command(app, arguments, "key", "what one backend serves at a time; without more, list them");
    key->require_subcommand(0, 1);
    add_text(add_command(*key, arguments, "list", "show the keys that are held"), "--namespace", options.name_space,
             "only in this namespace")
        ->envname("HOLDFAST_KEY_LIST_NAMESPACE");
    add_key_bar_options(
        add_command(*key, arguments, "bar", "let a key run out: refuse its renewal, and its backend ends before"),
        options);
}

void add_publishing(CLI::App& app, Arguments& arguments) {
    CLI::App* identity =
        add_command(app, arguments, "identity", "the key that makes a publisher; without more, show it");
    identity->require_subcommand(0, 1);
    add_identity_file(add_command(*identity, arguments, "new", "make one"), arguments.identity_file);
    add_identity_file(add_command(*identity, arguments, "show", "show its id and public key"), arguments.identity_file);
    add_advertise_options(
        add_command(app, arguments, "advertise", "let a service be found by a name, and reached through the relay"),
        arguments.advertise);
    add_service_connect_options(add_command(app, arguments, "connect", "reach a service by its name"),
                                arguments.service_connect);
}

}  // namespace

void add_common_options(CLI::App& app, CommonOptions& options) {
    const CLI::Validator is_server{[](std::string& url) {
                                       const auto server = parse_servers(url);
                                       if (server) url = *server;
                                       return server ? std::string{} : server.error().message;
                                   },
                                   "", "server"};
    app.add_option("--server", options.server,
                   "where the server is; several of a cluster with commas; default http://127.0.0.1:7400")
        ->type_name("URL[,URL...]")
        ->transform(is_server)
        ->envname("HOLDFAST_SERVER");
    app.add_flag("--json", options.json, "print JSON, one object per line")->envname("HOLDFAST_JSON");
    app.add_flag("--quiet", options.quiet, "no notes on standard error, only errors")->envname("HOLDFAST_QUIET");
}

void add_commands(CLI::App& app, Arguments& arguments) {
    add_serve(app, arguments);
    CLI::App* run = add_command(app, arguments, "run", "run a command under leases; it dies before they can move on");
    run->formatter(std::make_shared<RunFormatter>());
    add_take_options(run, arguments.take);
    add_leave_daemons(run, arguments.take.leave_daemons)->envname("HOLDFAST_LEAVE_DAEMONS");
    CLI::App* acquire = add_command(app, arguments, "acquire", "take leases and leave them to run out unless renewed");
    add_take_options(acquire, arguments.take);
    add_named(app, arguments);
    add_filters(add_command(app, arguments, "list", "show active leases"), arguments.filter, "HOLDFAST_LIST");
    CLI::App* watch = add_command(app, arguments, "watch", "show what happens to leases, as it happens");
    add_filters(watch, arguments.filter, "HOLDFAST_WATCH");
    watch->add_flag("--renewed", arguments.filter.renewed, "also show renewals")->envname("HOLDFAST_WATCH_RENEWED");
    add_policy(app, arguments);
    add_bans(app, arguments);
    add_service_rules(app, arguments);
    add_agents(app, arguments);
    add_mcp(app, arguments);
    add_guard(app, arguments);
    add_own(app, arguments);
    CLI::App* drone = add_command(app, arguments, "drone", "run backends under keys on this machine");
    drone->require_subcommand(0, 1);
    add_drone_options(drone, arguments.drone);
    add_command(*drone, arguments, "list", "show the drones");
    add_drone_drain_options(add_command(*drone, arguments, "drain", "let a drone take no new work"), arguments.drone);
    add_backends(app, arguments);
    add_publishing(app, arguments);
    CLI::App* discover = add_command(app, arguments, "discover", "show the services that are advertised");
    discover->add_option("NAME", arguments.discover.name, "only the one with this name, or those that match a glob")
        ->type_name("NAME|GLOB");
    discover->add_flag("--watch", arguments.discover.watch, "then show each change, until a signal comes")
        ->envname("HOLDFAST_DISCOVER_WATCH");
    add_elect_options(
        add_command(app, arguments, "elect", "run a command while leader of a group; without one, show who leads"),
        arguments);
    CLI::App* quorum = add_command(app, arguments, "quorum", "how the cluster is; without more, show it");
    quorum->require_subcommand(0, 1);
    CLI::App* status =
        add_command(*quorum, arguments, "status",
                    "show members, who is connected and who votes, and who leads; 0 if a majority votes");
    status
        ->add_flag("--wait-voting", arguments.quorum.wait_voting,
                   "first wait until every member is connected and votes; 1 if that does not come in time")
        ->envname("HOLDFAST_QUORUM_WAIT_VOTING");
    add_duration(status, "--timeout", arguments.quorum.timeout, "how long to wait for that (default 10m)")
        ->envname("HOLDFAST_QUORUM_TIMEOUT");
    CLI::App* store = add_command(app, arguments, "store", "where the leases are kept; without more, show it");
    store->require_subcommand(0, 1);
    add_command(*store, arguments, "status",
                "show the store and whether leases can be granted; 0 if they can, 108 if not now");
    add_command(app, arguments, "health", "show how the server is");
    add_command(app, arguments, "completion", "print the completion script of a shell")
        ->add_option("SHELL", arguments.shell, "which")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    add_command(app, arguments, "version", "show the version");
}

}  // namespace holdfast
