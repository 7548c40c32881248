#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::inline base {

/// A secret key that makes hash values unpredictable, so that a hostile client cannot fill one bucket of a hash table.
struct HashKey {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// SipHash-1-3 of the text.
std::uint64_t hash_text(HashKey key, std::string_view text);

/// A hash for tables in this process's memory: several times cheaper than hash_text(), and not as strong. That is
/// enough there: the key is secret and random, so a client cannot choose texts whose products are zero or collide, and
/// the hash itself is never exposed.
std::uint64_t hash_place(HashKey key, std::string_view text);

/// A keyed hash of texts for such tables.
struct TextHash {
    using is_transparent = void;
    HashKey key;
    std::size_t operator()(std::string_view text) const { return hash_place(key, text); }
};

/// A map by text with lookup by view. Elements keep their address until they are erased.
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

template <class Value>
TextMap<Value> make_text_map(HashKey key) {
    return TextMap<Value>(0, TextHash{key});
}

}  // namespace holdfast::inline base
