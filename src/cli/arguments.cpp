#include "cli/arguments.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace holdfast {
namespace {

using Iterator = std::vector<std::string>::const_iterator;

/// The first argument that is neither an option nor the value of one that comes before the subcommand.
Iterator find_subcommand(const std::vector<std::string>& arguments) {
    auto at = arguments.begin();
    while (at != arguments.end() && at->starts_with("-")) {
        const bool takes_value = *at == "--server" || *at == "--config";
        at += takes_value && std::next(at) != arguments.end() ? 2 : 1;
    }
    return at;
}

}  // namespace

Typed make_ready(const std::vector<std::string>& arguments) {
    Typed typed;
    const auto subcommand = find_subcommand(arguments);
    typed.subcommand = static_cast<std::size_t>(subcommand - arguments.begin());
    const bool is_run = subcommand != arguments.end() && *subcommand == "run";
    const bool has_command = is_run || (subcommand != arguments.end() &&
                                        (*subcommand == "own" || *subcommand == "elect" || *subcommand == "backend"));
    const bool may_wait = is_run || (subcommand != arguments.end() && *subcommand == "acquire");
    for (auto at = arguments.begin(); at != arguments.end(); ++at) {
        if (*at == "--") {
            typed.has_dashes = true;
            if (has_command) typed.command.assign(std::next(at), arguments.end());
            if (!has_command) typed.options.insert(typed.options.end(), at, arguments.end());
            break;
        }
        if (may_wait && *at == "--wait") {
            const bool has_value = std::next(at) != arguments.end() && parse_duration(*std::next(at));
            typed.options.push_back("--wait=" + (has_value ? *++at : std::string(wait_for_ever)));
        } else {
            typed.options.push_back(*at);
        }
    }
    return typed;
}

}  // namespace holdfast
