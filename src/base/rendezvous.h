#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace holdfast {

/// XXH64 with seed 0, as published: the same number in every language that has it.
std::uint64_t xxh64(std::string_view bytes);

/// How much an instance is preferred for a session (O3): XXH64 of `{instance}/{session}`. Depends on nothing else, so
/// that every instance, in whatever program, comes to the same order.
std::uint64_t rendezvous_weight(std::string_view instance, std::string_view session);

/// The instance with the highest weight; of equal ones the greater name. Empty if there is none. Removing an instance
/// moves only the sessions it was preferred for.
std::string_view preferred_owner(const std::set<std::string>& instances, std::string_view session);

}  // namespace holdfast
