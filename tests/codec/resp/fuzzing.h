#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "codec/resp/reading.h"

namespace holdfast::codec::resp {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// What a reader makes of a fuzzer's bytes, in pieces as at once. The first byte says how long the pieces are.
/// REQUIRES: there is one.
template <typename Reader>
auto read_both_ways(const std::uint8_t* data, std::size_t size) {
    const std::size_t step = 1 + data[0] % 16;
    const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < stream.size(); cut += step)
        cuts.push_back(cut);
    auto reading = read_at_once<Reader>(stream);
    require(read_in_pieces<Reader>(stream, cuts) == reading, "pieces are read as the whole");
    return reading;
}

}  // namespace holdfast::codec::resp
