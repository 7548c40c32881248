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

/// The place of the text in a table that is in this process's memory: several times cheaper, and not as strong. That
/// is enough there: the key is secret and random, so nobody can choose texts by which a product comes out as zero or
/// as another's, and the hash itself is never shown to anyone.
std::uint64_t hash_place(HashKey key, std::string_view text);

}  // namespace holdfast
