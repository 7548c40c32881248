#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "doors/resp/exchange.h"

namespace holdfast {

/// All commands of the door, found by name, whatever its case.
class CommandTable {
 public:
    CommandTable();

    /// Nothing if there is no such command.
    const RespCommand* find(std::string_view name) const;
    /// By name.
    std::span<const RespCommand* const> all() const { return sorted_; }

 private:
    std::vector<const RespCommand*> sorted_;
};

/// Of a command that takes so many words, the name included.
bool takes(const RespCommand& command, std::size_t words);

/// Texts of errors, as Redis words them.
std::string unknown_command(std::span<const std::string_view> words);
std::string wrong_arity(std::string_view command);
std::string unknown_subcommand(std::string_view command, std::string_view subcommand);

/// True if the texts are the same but for the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);
std::string lower_case(std::string_view text);

}  // namespace holdfast
