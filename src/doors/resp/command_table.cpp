#include "doors/resp/command_table.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_shown_bytes = 128;  // of a command and its arguments, in an error message

}  // namespace

CommandTable::CommandTable() {
    for (const auto commands : {connection_commands(), server_commands(), lease_commands(), event_commands(),
                                key_commands(), scan_commands(), script_commands(), transaction_commands()})
        for (const RespCommand& command : commands)
            sorted_.push_back(&command);
    std::sort(sorted_.begin(), sorted_.end(),
              [](const RespCommand* a, const RespCommand* b) { return a->name < b->name; });
}

const RespCommand* CommandTable::find(std::string_view name) const {
    std::array<char, 32> room;
    if (name.size() > room.size()) return nullptr;
    std::transform(name.begin(), name.end(), room.begin(), upper_case);
    const std::string_view wanted(room.data(), name.size());
    const auto found =
        std::lower_bound(sorted_.begin(), sorted_.end(), wanted,
                         [](const RespCommand* command, std::string_view text) { return command->name < text; });
    return found != sorted_.end() && (*found)->name == wanted ? *found : nullptr;
}

bool takes(const RespCommand& command, std::size_t words) {
    const auto arity = static_cast<std::size_t>(std::abs(command.arity));
    return command.arity >= 0 ? words == arity : words >= arity;
}

std::string unknown_command(std::span<const std::string_view> words) {
    std::string text =
        fmt::format("unknown command '{}', with args beginning with: ", words[0].substr(0, max_shown_bytes));
    std::size_t shown = 0;
    for (std::size_t i = 1; i < words.size() && shown < max_shown_bytes; ++i) {
        const std::string_view word = words[i].substr(0, max_shown_bytes - shown);
        shown += word.size() + 3;
        text += '\'';
        text += word;
        text += "' ";
    }
    return text;
}

std::string wrong_arity(std::string_view command) {
    return fmt::format("wrong number of arguments for '{}' command", lower_case(command));
}

std::string unknown_subcommand(std::string_view command, std::string_view subcommand) {
    return fmt::format("unknown subcommand '{}'. Try {} HELP.", subcommand.substr(0, max_shown_bytes), command);
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

}  // namespace holdfast::doors::resp
