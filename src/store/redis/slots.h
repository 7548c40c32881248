#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/resp_value.h"

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

/// Which master has which slot.
struct SlotMap {
    static constexpr std::uint16_t nobody = 0xffff;

    std::vector<Master> masters{};  ///< that have a slot, by id
    std::array<std::uint16_t, slot_count> of_slot{};

    /// Differs from that of a map by which a key would be looked for elsewhere.
    std::uint64_t version() const;
};

/// Reads the answer to CLUSTER SLOTS of a node that was reached at `asked`, which is where a node is that does not know
/// its own address.
Result<SlotMap> read_slots(const resp::Value& answer, const std::string& asked);

/// `HOST:PORT` as MOVED and ASK say it; the host may be missing.
Result<Place> read_place(std::string_view text, const std::string& asked);

}  // namespace holdfast::redis_engine
