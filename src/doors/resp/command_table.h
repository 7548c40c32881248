#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "doors/resp/exchange.h"

namespace holdfast::doors::resp {

/// All commands of the door, looked up by name, ignoring case.
class CommandTable {
 public:
    CommandTable();

    /// nullptr if there is no such command.
    const RespCommand* find(std::string_view name) const;
    /// Sorted by name.
    std::span<const RespCommand* const> all() const { return sorted_; }

 private:
    std::vector<const RespCommand*> sorted_;
};

/// Whether the command accepts this number of words, the name included.
bool takes(const RespCommand& command, std::size_t words);

/// Error texts in Redis's wording.
std::string unknown_command(std::span<const std::string_view> words);
std::string wrong_arity(std::string_view command);
std::string unknown_subcommand(std::string_view command, std::string_view subcommand);

inline char upper_case(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// True if the texts are equal, ignoring the case of ASCII letters.
inline bool same_word(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (upper_case(a[i]) != upper_case(b[i])) return false;
    return true;
}
std::string lower_case(std::string_view text);

}  // namespace holdfast::doors::resp
