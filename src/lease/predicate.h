#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::lease {

/// The operation a holder intends on a resource (G2). A plain lock is `mutates`.
enum class Predicate : std::uint8_t { provides, consumes, mutates, deletes, depends_on, renames };

inline constexpr std::array all_predicates{Predicate::provides, Predicate::consumes,   Predicate::mutates,
                                           Predicate::deletes,  Predicate::depends_on, Predicate::renames};

std::string_view to_string(Predicate predicate);
std::optional<Predicate> parse_predicate(std::string_view name);

/// True if two holders may have these on one resource at once (G2). Symmetric.
bool compatible(Predicate a, Predicate b);

/// A set of predicates: those held, or those requested ahead of a waiter.
class PredicateSet {
 public:
    void insert(Predicate predicate) {
        bits_ = static_cast<std::uint8_t>(bits_ | 1U << static_cast<unsigned>(predicate));
    }
    bool contains(Predicate predicate) const { return (bits_ >> static_cast<unsigned>(predicate) & 1U) != 0; }

    /// True if the predicate is compatible with every member.
    bool admits(Predicate predicate) const;

 private:
    std::uint8_t bits_ = 0;
};

}  // namespace holdfast::lease
