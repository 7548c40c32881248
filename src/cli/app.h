#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_shape.h"
#include "cli/options.h"

namespace holdfast {

/// Reads the command line, the environment (HOLDFAST_…) and the config file, in this order of precedence. Prints help
/// and usage errors itself: if `exit` is set, the program ends with it. `arguments` does not include the program's
/// name.
struct Parsed {
    Arguments arguments;
    std::optional<int> exit;
};
Parsed parse_command_line(const std::vector<std::string>& arguments);

/// What parse_command_line() understands.
CommandShape command_shape();

/// The version of this program.
const char* version();

}  // namespace holdfast
