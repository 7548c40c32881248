#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace holdfast::inline base {

/// XXH64 with seed 0, as published: the same in every language.
std::uint64_t xxh64(std::string_view bytes);

/// FNV-1a of 64 bits, as published.
std::uint64_t fnv1a(std::string_view bytes);

/// The hash that gives the weight of an instance. All instances that share sessions must use the same.
enum class RendezvousHash {
    xxh64,  ///< XXH64 of `{instance}/{session}`
    fnv1a   ///< FNV-1a of `{instance}{session}`, as programs in Go do with hash/fnv
};

/// The preference of an instance for a session (O3). Depends on nothing else, so that every instance, in any program,
/// computes the same order.
std::uint64_t rendezvous_weight(std::string_view instance, std::string_view session,
                                RendezvousHash hash = RendezvousHash::xxh64);

/// The instance with the highest weight; the greater name wins a tie. Empty if there are no instances. Removing an
/// instance moves only the sessions it was preferred for.
std::string_view preferred_owner(const std::set<std::string>& instances, std::string_view session,
                                 RendezvousHash hash = RendezvousHash::xxh64);

}  // namespace holdfast::inline base
