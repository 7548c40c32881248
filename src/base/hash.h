#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// A secret that makes the places of a hash table unguessable, so that a hostile client cannot crowd one of them.
struct HashKey {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// SipHash-1-3 of the text.
std::uint64_t hash_text(HashKey key, std::string_view text);

}  // namespace holdfast
