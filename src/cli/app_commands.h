#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text.h"
#include "cli/options.h"

namespace holdfast::cli {

/// Declares the options that every command takes, on the root.
void add_common_options(CLI::App& app, CommonOptions& options);

/// Declares every command and its options. The parser writes to `arguments`, which must outlive the app.
void add_commands(CLI::App& app, Arguments& arguments);

/// Declares the commands of an admin: policy, bans, approvals, names of services, audit (administer.cpp).
void add_admin_commands(CLI::App& app, Arguments& arguments);

/// The options of `drone` and of `drone drain` (drone.cpp).
void add_drone_options(CLI::App* command, DroneArguments& options);
void add_drone_drain_options(CLI::App* command, DroneArguments& options);

/// The options of the commands under `backend` and `key` (backend.cpp).
void add_connect_options(CLI::App* command, BackendArguments& options);
void add_backend_list_options(CLI::App* command, BackendArguments& options);
void add_backend_id(CLI::App* command, BackendArguments& options);
void add_key_bar_options(CLI::App* command, BackendArguments& options);

/// The options of `elect` (elect.cpp).
void add_elect_options(CLI::App* command, Arguments& arguments);

/// The options of `identity` and `advertise` (publish.cpp), and of `connect` (service_connect.cpp).
void add_identity_file(CLI::App* command, std::string& file);
void add_advertise_options(CLI::App* command, AdvertiseArguments& options);
void add_service_connect_options(CLI::App* command, ServiceConnectArguments& options);

/// The options of `serve` (serve.cpp).
void add_serve_options(CLI::App* command, server::ServeOptions& options);

/// Declares a command of the root, or a subcommand of another one.
CLI::App* add_command(CLI::App& app, Arguments& arguments, const std::string& name, const std::string& description);

/// Sets the usage line of a command that is followed by `--` and another command, which the parser never sees.
void set_usage(CLI::App* command, const std::string& usage);

/// Kinds of options that several commands have.

/// REQUIRES: called by the parser, which reports the exception to the user.
inline Duration to_duration(const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) throw CLI::ValidationError(duration.error().message);
    return *duration;
}

/// Checks a value with a function that parses it and returns a Result.
template <class Parse>
CLI::Validator parsed_by(Parse parse, const std::string& name) {
    const auto complaint = [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string{} : parsed.error().message;
    };
    return {complaint, "", name};
}

/// Checks a list of servers, and completes their URLs.
CLI::Validator server_list();

inline CLI::Option* add_text(CLI::App* command, const std::string& name, std::string& target,
                             const std::string& description) {
    return command->add_option(name, target, description)->type_name("TEXT");
}

/// The parser itself would read -1 as a huge number.
CLI::Option* add_number(CLI::App* command, const std::string& name, std::optional<std::uint64_t>& target,
                        const std::string& description);

/// `Target` is a Duration or an optional one.
template <class Target>
CLI::Option* add_duration(CLI::App* command, const std::string& name, Target& target, const std::string& description) {
    const auto read = [&target](const std::string& text) { target = to_duration(text); };
    return command->add_option_function<std::string>(name, read, description)->type_name("DURATION");
}

/// A number from 1 to `max`. Its default is shown.
struct CountOption {
    std::string name;
    std::string description;
    std::size_t max = 0;
};
CLI::Option* add_count(CLI::App* command, std::size_t& target, const CountOption& option);

void add_log_level(CLI::App* command, std::string& target);

/// For commands that run another command under a guardian.
CLI::Option* add_leave_daemons(CLI::App* command, bool& target);

/// For commands that use a relay.
void add_relay(CLI::App* command, std::string& relay);
CLI::Option* add_streams(CLI::App* command, std::size_t& streams);

}  // namespace holdfast::cli
