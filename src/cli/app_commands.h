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

}  // namespace holdfast
