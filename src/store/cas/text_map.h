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

/// By text, and found by a view of it. What is in it stays where it is until it is taken out.
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

template <class Value>
TextMap<Value> make_text_map(HashKey key) {
    return TextMap<Value>(0, TextHash{key});
}

}  // namespace holdfast::core
