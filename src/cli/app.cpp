#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include "base/text.h"
#include "cli/app_commands.h"
#include "cli/exit_codes.h"
#include "cli/table.h"
#include "client/http_connection.h"

namespace holdfast::cli {
namespace {

using Iterator = std::vector<std::string>::const_iterator;

/// The first argument that is neither an option nor the value of one that comes before the subcommand.
Iterator find_subcommand(const std::vector<std::string>& arguments) {
    auto at = arguments.begin();
    while (at != arguments.end() && at->starts_with("-")) {
        const bool takes_value = *at == "--server" || *at == "--config";
        at += takes_value && std::next(at) != arguments.end() ? 2 : 1;
    }
    return at;
}

constexpr const char* common_footer =
    "Every command also takes --server URL, --json, --quiet and --config FILE.\n"
    "Options can also be set in the environment or the config file; see holdfast(1).";

constexpr const char* exit_footer =
    "Exit codes: 0 ok, 1 failed, 2 usage, 103 busy, 104 lost, 105 unreachable, 106 refused, 107 told to die, 108 not "
    "now.\n";

constexpr const char* run_footer =
    "The environment of the command has HOLDFAST_TOKEN, HOLDFAST_LEASE and HOLDFAST_RESOURCE, with one line per\n"
    "resource. If a lease cannot be renewed, the command is asked to stop (SIGTERM) at the soft deadline, and killed\n"
    "with everything it started at the hard deadline, before the server may grant the lease to another holder. When\n"
    "the command has ended, processes that it left behind are stopped too, and only then is the lease released.\n\n"
    "Three processes ensure this: holdfast run itself, a guardian and a second guardian. Any two of them may be "
    "killed\n"
    "or stopped. The limits: if all three are killed at once, the command dies, but processes that it started go on;\n"
    "if all three are stopped, everything goes on. Work that was handed to another service (systemd-run, docker, at)\n"
    "does not descend from the command and is not stopped; nor are processes of another user, unless run by root.\n\n"
    "Exit codes: the command's own, or 128+n if signal n killed it; 2 usage, 103 not acquired (busy), 104 lost,\n"
    "105 unreachable, 106 refused by the server, 107 told to die: an older agent is in the way, 108 not now: try "
    "again\n"
    "later, 126 the command cannot be run, 127 the command was not found.\n";

constexpr const char* own_footer =
    "The command is run once per interval for each owned session; {} in it stands for the session, which is also in\n"
    "HOLDFAST_SESSION of its environment, beside HOLDFAST_INSTANCE. Before the session can go to another instance, "
    "the\n"
    "command is asked to stop (SIGTERM), and then killed with everything it started.\n\n"
    "The file of sessions is read again when it has changed, and on SIGHUP.\n\n"
    "Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failed, 2 usage, 126 the command cannot be run, 127 the command "
    "was\n"
    "not found.\n";

constexpr const char* elect_footer =
    "The command runs while this holder leads, as with 'holdfast run leader:GROUP --wait'; its environment has\n"
    "HOLDFAST_GROUP and HOLDFAST_TOKEN. When the lease is lost, the command is stopped before another holder may "
    "lead,\n"
    "and this one stands again. Without a command, shows the leader and every change, until a signal arrives.\n\n"
    "Exit codes: the command's own once it ends by itself, or 128+n if signal n ended it; 2 usage, 105 unreachable,\n"
    "106 refused by the server, 108 not now: try again later, 126 the command cannot be run, 127 the command was not\n"
    "found.\n";

constexpr const char* connect_footer =
    "There are two commands: --spawn is what a drone starts if the key has no backend; the command after -- runs "
    "here,\n"
    "in place of holdfast, once the backend is ready.\n\n"
    "--spawn is a command line for the drone's shell. $PORT in it is the port to listen on; HOLDFAST_KEY,\n"
    "HOLDFAST_BACKEND_ID and HOLDFAST_FENCING_TOKEN are set too. Put it in single quotes, so that your own shell does\n"
    "not expand them:\n"
    "    holdfast backend connect room-1 --spawn 'room-server --port $PORT' -- curl http://{}/\n"
    "--spawn-file is the same as JSON, argument by argument and without a shell:\n"
    "    {\"command\": \"room-server\", \"args\": []}\n\n"
    "The environment of the command after -- has HOLDFAST_ADDRESS, HOLDFAST_BACKEND_ID, HOLDFAST_KEY and\n"
    "HOLDFAST_FENCING_TOKEN; {} in it stands for the address. Without a command, the address is printed.\n\n"
    "Exit codes: 0 ok or the command's own, 1 the backend did not start, 2 usage, 103 not ready in time or held with\n"
    "another tag, 105 unreachable, 106 refused by the server, 108 not now: try again later, 126 the command cannot be\n"
    "run, 127 the command was not found.\n";

const char* footer_of(const std::string& command) {
    if (command == "run") return run_footer;
    if (command == "own") return own_footer;
    if (command == "elect") return elect_footer;
    return exit_footer;
}

const char* environment(const std::string& name) {
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    return value != nullptr && *value != '\0' ? value : nullptr;
}

/// The config file without the settings that the environment overrides: the parser would give the file precedence.
class ConfigBelowEnvironment : public CLI::ConfigTOML {
 public:
    explicit ConfigBelowEnvironment(const CLI::App& app) : app_(app) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::vector<CLI::ConfigItem> found = CLI::ConfigTOML::from_config(input);
        std::erase_if(found, [&](const CLI::ConfigItem& item) { return is_overridden(item); });
        return found;
    }

 private:
    bool is_overridden(const CLI::ConfigItem& item) const {
        const CLI::App* app = &app_;
        for (const std::string& parent : item.parents) {
            const auto named = app->get_subcommands([&](const CLI::App* one) { return one->get_name() == parent; });
            if (named.empty()) return false;
            app = named.front();
        }
        const CLI::Option* option = app->get_option_no_throw("--" + item.name);
        return option != nullptr && environment(option->get_envname()) != nullptr;
    }

    const CLI::App& app_;
};

/// HOLDFAST_CONFIG, else the user's file, else the machine's.
std::string default_config() {
    if (const char* given = environment("HOLDFAST_CONFIG")) return given;
    const char* config_home = environment("XDG_CONFIG_HOME");
    const char* home = environment("HOME");
    const std::string base = config_home != nullptr ? config_home
                             : home != nullptr      ? std::string(home) + "/.config"
                                                    : "";
    const std::string users = base + "/holdfast/config.toml";
    return !base.empty() && access(users.c_str(), F_OK) == 0 ? users : "/etc/holdfast/config.toml";
}

void set_footers(CLI::App& app) {
    app.footer(std::string(exit_footer) + common_footer);
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
        command->footer(std::string(footer_of(command->get_name())) + common_footer);
        for (CLI::App* inner : command->get_subcommands([](CLI::App*) { return true; }))
            inner->footer(std::string(inner->get_name() == "connect" ? connect_footer : exit_footer) + common_footer);
    }
}

/// An empty name, as in `holdfast unban "$HOLDER"` with HOLDER unset, would cut the last part off an API path.
void refuse_empty_names(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_positional() && option->get_required())
            option->check([](const std::string& text) { return text.empty() ? "must not be empty" : ""; });
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        refuse_empty_names(*command);
}

std::unique_ptr<CLI::App> make_app(Arguments& arguments) {
    auto app = std::make_unique<CLI::App>(
        "Leases: the right to be the one that does something, for a limited time, with proof.", "holdfast");
    app->require_subcommand(1);
    app->fallthrough();
    app->set_version_flag("--version", version());
    app->set_config("--config", default_config(), "read options from this TOML file",
                    environment("HOLDFAST_CONFIG") != nullptr);
    app->config_formatter(std::make_shared<ConfigBelowEnvironment>(*app));
    app->allow_config_extras(CLI::config_extras_mode::error);
    add_common_options(*app, arguments.common);
    add_commands(*app, arguments);
    set_footers(*app);
    refuse_empty_names(*app);
    return app;
}

[[nodiscard]] int usage_error(const std::string& message, const std::string& command) {
    std::cerr << fmt::format("holdfast: {}; see 'holdfast {}{}--help'\n", printable(message), command,
                             command.empty() ? "" : " ");
    return exit_usage;
}

/// Checks that the parser cannot express: conditions on several options.
std::optional<std::string> complaint_about(const Arguments& arguments, const Typed& typed) {
    const NamedOptions& named = arguments.named;
    if (arguments.command == "run" && typed.command.empty())
        return "give the command to run: holdfast run RESOURCE... -- COMMAND [ARGUMENT...]";
    if (arguments.command == "own" && typed.command.empty())
        return "give the command to poll with: holdfast own --sessions FILE -- COMMAND [ARGUMENT...] {}";
    if (arguments.command == "elect" && typed.command.empty() && typed.has_dashes)
        return "give the command to run after --, or leave out the -- to see who leads";
    if (arguments.command.starts_with("backend") && arguments.command != "backend connect" && !typed.command.empty())
        return "only 'holdfast backend connect' takes a command";
    if (!arguments.backend.spawn.empty() && !arguments.backend.spawn_file.empty())
        return "give the command to start with --spawn or --spawn-file, not with both";
    const bool names_leases = arguments.command == "renew" || arguments.command == "release";
    if (names_leases && named.leases.empty() != named.all) return "name the leases, or give --all, but not both";
    if (arguments.command == "renew" && named.progress && named.all) return "name the leases that have this --progress";
    if (arguments.command == "verify" && named.epoch && named.holder.empty()) return "--epoch needs a --holder";
    if (arguments.command == "verify" && named.leases.empty() == named.holder.empty())
        return "name the leases to verify, or give a --holder, but not both";
    return std::nullopt;
}

/// The values of a choice, which the parser only gives as text: `TEXT:{a,b,c}`.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) return {};
    return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

CommandShape shape_of(const CLI::App& app) {
    CommandShape shape{app.get_name(), app.get_description(), {}, {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_lnames().empty()) {
            shape.choices = choices_of(*option);
            continue;
        }
        shape.options.push_back({"--" + option->get_lnames().front(), option->get_description(), option->get_envname(),
                                 option->get_expected_max() != 0, choices_of(*option)});
    }
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        shape.commands.push_back(shape_of(*command));
    return shape;
}

std::string parsed_command(const CLI::App& app) {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? "" : parsed.front()->get_name();
}

/// Improves the parser's message for a misspelt subcommand, "A subcommand is required".
std::string what_is_wrong(const CLI::Error& error, const CLI::App& app, const Typed& typed) {
    const bool is_command = app.get_subcommands().empty() && typed.subcommand < typed.options.size();
    return is_command ? fmt::format("there is no command '{}'", typed.options[typed.subcommand]) : error.what();
}

}  // namespace

Typed make_ready(const std::vector<std::string>& arguments) {
    Typed typed;
    const auto subcommand = find_subcommand(arguments);
    typed.subcommand = static_cast<std::size_t>(subcommand - arguments.begin());
    const bool is_run = subcommand != arguments.end() && *subcommand == "run";
    const bool has_command = is_run || (subcommand != arguments.end() &&
                                        (*subcommand == "own" || *subcommand == "elect" || *subcommand == "backend"));
    const bool may_wait = is_run || (subcommand != arguments.end() && *subcommand == "acquire");
    for (auto at = arguments.begin(); at != arguments.end(); ++at) {
        if (*at == "--") {
            typed.has_dashes = true;
            if (has_command) typed.command.assign(std::next(at), arguments.end());
            if (!has_command) typed.options.insert(typed.options.end(), at, arguments.end());
            break;
        }
        if (may_wait && *at == "--wait") {
            const bool has_value = std::next(at) != arguments.end() && parse_duration(*std::next(at));
            typed.options.push_back("--wait=" + (has_value ? *++at : std::string(wait_for_ever)));
        } else {
            typed.options.push_back(*at);
        }
    }
    return typed;
}

Parsed parse_command_line(const std::vector<std::string>& arguments) {
    Parsed parsed;
    const Typed typed = make_ready(arguments);
    const auto app = make_app(parsed.arguments);
    if (arguments.empty()) {
        std::cerr << app->help();
        parsed.exit = exit_usage;
        return parsed;
    }
    try {
        std::vector<std::string> reversed{typed.options.rbegin(), typed.options.rend()};  // as the parser requires
        app->parse(reversed);
    } catch (const CLI::Success& done) {
        parsed.exit = app->exit(done);
        return parsed;
    } catch (const CLI::Error& error) {
        parsed.exit = usage_error(what_is_wrong(error, *app, typed), parsed_command(*app));
        return parsed;
    }
    parsed.arguments.take.command = parsed.arguments.own.command = typed.command;
    parsed.arguments.common.server = client::default_server(parsed.arguments.common.server);
    if (const auto missing = complaint_about(parsed.arguments, typed))
        parsed.exit = usage_error(*missing, parsed.arguments.command);
    return parsed;
}

CommandShape command_shape() {
    Arguments arguments;
    return shape_of(*make_app(arguments));
}

const char* version() {
    return HOLDFAST_VERSION;
}

}  // namespace holdfast::cli
