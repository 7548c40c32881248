#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::peer {

/// Why two nodes refuse each other. The numbers are part of the protocol and never change.
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

/// The stable code, spelled like the enumerator, and a sentence that says what to do.
std::string_view to_string(Refusal refusal);
std::string_view advice(Refusal refusal);
/// True if a state directory was lost or restored from a copy. That does not repair itself, so the operator should know
/// at once.
bool needs_repair(Refusal refusal);
std::optional<Refusal> refusal_of(std::uint32_t number);

}  // namespace holdfast::peer
