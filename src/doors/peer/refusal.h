#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::peer {

/// Why two nodes do not talk to each other. The numbers travel: they keep their meaning.
enum class Refusal : std::uint8_t {
    wrong_secret = 1,
    other_version = 2,
    other_members = 3,
    other_longest_ttl = 4,
    other_rho = 5,
    unexpected_node = 6,
    old_boot = 7,
    other_directory = 8,
    old_directory = 9,
};

/// The stable code, as in the enumeration; and a sentence that says what to do.
std::string_view to_string(Refusal refusal);
std::string_view advice(Refusal refusal);
/// A state directory is lost or was put back: nothing mends itself, and the operator should know at once.
bool needs_repair(Refusal refusal);
std::optional<Refusal> refusal_of(std::uint32_t number);

}  // namespace holdfast::peer
