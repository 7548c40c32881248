#pragma once

#include "cli/options.h"

namespace CLI {
class App;
}

namespace holdfast {

/// Declares the options that every command takes, on the root.
void add_common_options(CLI::App& app, CommonOptions& options);

/// Declares every command and its options. What is parsed goes to `arguments`, which must outlive the app.
void add_commands(CLI::App& app, Arguments& arguments);

/// The options of `drone` and of `drone drain` (drone_options.cpp).
void add_drone_options(CLI::App* command, DroneArguments& options);
void add_drone_drain_options(CLI::App* command, DroneArguments& options);

/// The options of the commands under `backend` and `key` (backend_options.cpp).
void add_connect_options(CLI::App* command, BackendArguments& options);
void add_backend_list_options(CLI::App* command, BackendArguments& options);
void add_backend_id(CLI::App* command, BackendArguments& options);
void add_key_bar_options(CLI::App* command, BackendArguments& options);

/// The options of `elect` (elect_options.cpp).
void add_elect_options(CLI::App* command, Arguments& arguments);

/// The options of `identity`, `advertise` and `connect` (publish_options.cpp).
void add_identity_file(CLI::App* command, std::string& file);
void add_advertise_options(CLI::App* command, AdvertiseArguments& options);
void add_service_connect_options(CLI::App* command, ServiceConnectArguments& options);

/// The options of `serve` (serve_options.cpp).
void add_serve_options(CLI::App* command, ServeOptions& options);

}  // namespace holdfast
