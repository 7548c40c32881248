#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/text.h"

namespace holdfast {

/// Kinds of options that several commands have.

/// REQUIRES: called by the parser, which tells the user what it throws.
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

/// Of commands that run another under a guardian.
inline CLI::Option* add_leave_daemons(CLI::App* command, bool& target) {
    return command->add_flag("--leave-daemons", target,
                             "let processes that left the command's process group go on, without the lease, when the "
                             "command has ended; default: they are stopped first");
}

}  // namespace holdfast
