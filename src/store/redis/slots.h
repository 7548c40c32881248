#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/resp/resp_value.h"

namespace holdfast::store::redis {

/// CRC-16 as used by Redis Cluster (XMODEM).
std::uint16_t crc16(std::string_view text);

inline constexpr std::size_t slot_count = 16384;

/// The cluster slot of a key: hashes the text between the first `{` and the next `}`, if there is any, else the whole
/// key.
std::uint16_t slot_of(std::string_view key);

/// The address of a cluster node.
struct Place {
    std::string host;
    std::uint16_t port = 0;

    auto operator<=>(const Place&) const = default;
};
struct Master {
    std::string id;
    Place place;
};

/// What a cluster reports about one slot.
struct SlotOwner {
    std::optional<Master> master{};  ///< the owner of the slot
    std::vector<Place> masters{};    ///< all masters that own slots
};

/// Parses the reply to CLUSTER SLOTS. `asked` is the host at which the replying node was reached; it replaces the
/// address of a node that does not know its own.
Result<SlotOwner> read_slots(const codec::resp::Value& answer, std::uint16_t slot, const std::string& asked);

}  // namespace holdfast::store::redis
