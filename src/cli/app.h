#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace holdfast::cli {

/// The commands and options as data, for completions and for the test of the manual page.
struct OptionShape {
    std::string name;  ///< `--ttl`
    std::string description;
    std::string environment;  ///< `HOLDFAST_TTL`, or empty
    bool takes_value = false;
    std::vector<std::string> choices;  ///< its possible values, if they are few
};

struct CommandShape {
    std::string name;
    std::string description;
    std::vector<OptionShape> options;
    std::vector<std::string> choices;  ///< the possible arguments, if known
    std::vector<CommandShape> commands;
};

/// The arguments as typed, prepared for the parser.
struct Typed {
    std::vector<std::string> options;  ///< the parser's input
    std::vector<std::string> command;  ///< for `run`, `own`, `elect` and `backend connect`: the words after `--`
    bool has_dashes = false;           ///< there was a `--`, even if nothing follows it
    std::size_t subcommand = 0;        ///< the index of the subcommand in `options`, or their number
};

/// Splits off the command after `--`, and gives a bare `--wait` its value: `--wait FILE:x` waits for ever for FILE:x,
/// but `--wait 30s` and `--wait=30s` wait for 30 s. `arguments` does not include the program's name.
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

/// The commands and options that parse_command_line() accepts.
CommandShape command_shape();

/// Completion scripts for all commands and options (completion.cpp). In bash and fish the command after `--` is
/// completed too.
std::string bash_completion(const CommandShape& root);
std::string zsh_completion(const CommandShape& root);
std::string fish_completion(const CommandShape& root);

/// The version of this program.
const char* version();

}  // namespace holdfast::cli
