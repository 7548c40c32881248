#pragma once

#include <string>
#include <vector>

namespace holdfast {

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

}  // namespace holdfast
