#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/text.h"
#include "cli/options.h"

namespace CLI {
class App;
}

namespace holdfast {

/// Declares the options that every command takes, on the root.
void add_common_options(CLI::App& app, CommonOptions& options);

/// Declares every command and its options. The parser writes to `arguments`, which must outlive the app.
void add_commands(CLI::App& app, Arguments& arguments);

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

/// The options of `identity`, `advertise` and `connect` (publish_options.cpp).
void add_identity_file(CLI::App* command, std::string& file);
void add_advertise_options(CLI::App* command, AdvertiseArguments& options);
void add_service_connect_options(CLI::App* command, ServiceConnectArguments& options);

/// The options of `serve` (serve.cpp).
void add_serve_options(CLI::App* command, ServeOptions& options);

/// Kinds of options that several commands have.

/// REQUIRES: called by the parser, which reports the exception to the user.
inline Duration to_duration(const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) throw CLI::ValidationError(duration.error().message);
    return *duration;
}

inline CLI::Option* add_text(CLI::App* command, const std::string& name, std::string& target,
                             const std::string& description) {
    return command->add_option(name, target, description)->type_name("TEXT");
}

/// `Target` is a Duration or an optional one.
template <class Target>
CLI::Option* add_duration(CLI::App* command, const std::string& name, Target& target, const std::string& description) {
    const auto read = [&target](const std::string& text) { target = to_duration(text); };
    return command->add_option_function<std::string>(name, read, description)->type_name("DURATION");
}

/// For commands that run another command under a guardian.
inline CLI::Option* add_leave_daemons(CLI::App* command, bool& target) {
    return command->add_flag("--leave-daemons", target,
                             "let processes that left the command's process group go on, without the lease, when the "
                             "command has ended; default: they are stopped first");
}

}  // namespace holdfast
