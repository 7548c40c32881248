#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"

namespace holdfast::core {

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

}  // namespace holdfast::core
