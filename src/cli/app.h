#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace holdfast {

/// The command line as data: what can be typed, for completions and for the test of the manual page.
struct OptionShape {
    std::string name;  ///< `--ttl`
    std::string description;
    std::string environment;  ///< `HOLDFAST_TTL`, or empty
    bool takes_value = false;
    std::vector<std::string> choices;  ///< the values it takes, if they are few
};

struct CommandShape {
    std::string name;
    std::string description;
    std::vector<OptionShape> options;
    std::vector<std::string> choices;  ///< what its argument may be, if that is known
    std::vector<CommandShape> commands;
};

/// The arguments as typed, made ready for the parser.
struct Typed {
    std::vector<std::string> options;  ///< what the parser reads
    std::vector<std::string> command;  ///< for `run`, `own`, `elect` and `backend connect`: what follows `--`
    bool has_dashes = false;           ///< even if nothing comes after them
    std::size_t subcommand = 0;        ///< where in `options` the subcommand stands, or their number
};

/// Splits off the command of such a one, and gives a bare `--wait` its value: `--wait FILE:x` waits for ever for
/// FILE:x, but
/// `--wait 30s` and `--wait=30s` wait for 30 s. `arguments` does not include the program's name.
Typed make_ready(const std::vector<std::string>& arguments);

/// The value a bare `--wait` stands for.
inline constexpr const char* wait_for_ever = "forever";

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
