#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/resp/resp_value.h"

namespace holdfast::redis_engine {

/// CRC-16 as Redis Cluster has it (XMODEM).
std::uint16_t crc16(std::string_view text);

inline constexpr std::size_t slot_count = 16384;

/// Where in a cluster a key is: by what stands between its first `{` and the next `}`, if anything does.
std::uint16_t slot_of(std::string_view key);

/// Where a node of a cluster listens.
struct Place {
    std::string host;
    std::uint16_t port = 0;

    auto operator<=>(const Place&) const = default;
};
struct Master {
    std::string id;
    Place place;
};

/// What a cluster says of one of its slots.
struct SlotOwner {
    std::optional<Master> master{};  ///< that has it
    std::vector<Place> masters{};    ///< all that have a slot
};

/// Reads the answer to CLUSTER SLOTS of a node that was reached at `asked`, which is where a node is that does not know
/// its own address.
Result<SlotOwner> read_slots(const resp::Value& answer, std::uint16_t slot, const std::string& asked);

}  // namespace holdfast::redis_engine
