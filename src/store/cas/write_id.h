#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/result.h"

namespace holdfast::core {

/// Names one write among those of all fronts, of all their starts and of all histories of an engine: none is used
/// twice, so a compare-and-set never takes a write of another history for the one that was decided on
/// (docs/decisions/0013-engines-that-forget.md). 0: nothing was ever written, or what was is gone.
struct WriteId {
    static constexpr std::size_t size = 16;

    constexpr WriteId() = default;
    constexpr WriteId(std::uint64_t number) : count(number) {}
    constexpr WriteId(std::uint64_t start_id, std::uint64_t number) : start(start_id), count(number) {}

    auto operator<=>(const WriteId&) const = default;
    WriteId& operator++() {
        ++count;
        return *this;
    }

    /// `size` bytes, in the order of the ids.
    std::string bytes() const {
        std::string out(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            out[i] = static_cast<char>((i < 8 ? start : count) >> (56 - 8 * (i % 8)) & 0xff);
        return out;
    }
    /// REQUIRES: as many bytes.
    static WriteId from_bytes(std::string_view bytes) {
        HOLDFAST_ASSERT(bytes.size() == size);
        WriteId write;
        for (std::size_t i = 0; i < size; ++i) {
            std::uint64_t& half = i < 8 ? write.start : write.count;
            half = half << 8 | static_cast<unsigned char>(bytes[i]);
        }
        return write;
    }

    std::uint64_t start = 0;  ///< random, of one start of a front
    std::uint64_t count = 0;  ///< from a random number on
};

/// What is there was written by an older version, whose fronts give other tokens and have other write ids: the two must
/// not share an engine. Waiting does not help.
inline Error other_format(const std::string& where) {
    return {"store_format",
            where +
                ": it was written by an older version of Holdfast; stop all servers of that version, and "
                "give this one another prefix, or delete what is under this one (docs/stores.md)"};
}

}  // namespace holdfast::core
