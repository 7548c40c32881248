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

/// The options of `elect` (elect_options.cpp).
void add_elect_options(CLI::App* command, Arguments& arguments);

/// The options of `serve` (serve_options.cpp).
void add_serve_options(CLI::App* command, ServeOptions& options);

/// The options of `sim` (sim_options.cpp).
void add_sim_options(CLI::App* command, SimOptions& sim);

}  // namespace holdfast
