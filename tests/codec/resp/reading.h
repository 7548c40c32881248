#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_value.h"

namespace holdfast::codec::resp {

/// All that a reader makes of a stream: what it read, where it stopped, and why, if that was not the end.
template <typename Item>
struct Reading {
    std::vector<Item> items{};
    std::size_t used = 0;
    std::string error{};

    bool operator==(const Reading&) const = default;
};

using Words = std::vector<std::string>;

inline Words item_of(CommandReader& reader) {
    return {reader.words().begin(), reader.words().end()};
}
inline Value item_of(ValueReader& reader) {
    return reader.value();
}

/// Shows a stream to a reader in pieces that end at `cuts` (ascending), each time at a new place in memory, so that a
/// reader which keeps a pointer into the last piece is caught by ASan.
template <typename Reader>
auto read_in_pieces(std::string_view stream, std::span<const std::size_t> cuts) {
    Reader reader;
    Reading<decltype(item_of(reader))> reading;
    const auto show = [&](std::size_t end) {
        while (reading.error.empty()) {
            const std::string piece(stream.substr(reading.used, end - reading.used));
            const auto outcome = reader.read(piece);
            if (outcome == Reader::Outcome::more) return;
            if (outcome == Reader::Outcome::malformed) {
                reading.error = reader.error();
                return;
            }
            reading.items.push_back(item_of(reader));
            reading.used += reader.size();
        }
    };
    for (const std::size_t cut : cuts)
        show(cut);
    show(stream.size());
    return reading;
}

template <typename Reader>
auto read_at_once(std::string_view stream) {
    return read_in_pieces<Reader>(stream, {});
}

template <typename Reader>
auto read_bytewise(std::string_view stream) {
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < stream.size(); ++cut)
        cuts.push_back(cut);
    return read_in_pieces<Reader>(stream, cuts);
}

}  // namespace holdfast::codec::resp
