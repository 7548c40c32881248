#pragma once

#include <string>
#include <vector>

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

}  // namespace holdfast
