#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/code.h"
#include "discovery/protocol.h"
#include "lease/lease.h"

namespace holdfast::core {

/// What the lease of a service says of it, as the lease's metadata (D2).
struct Advert {
    std::string address;
    std::vector<std::string> alpn;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::string from;  ///< the IP address that its publisher came from
    std::int64_t first_seen_ms = 0;
    std::uint64_t life = 0;        ///< of the relay that granted it
    std::string relay;             ///< where that listens
    std::uint64_t connection = 0;  ///< of its publisher with that relay; 0: it has none (R8)
    std::uint32_t node = 0;        ///< of the cluster, that the relay is part of; counted from 1; 0: of none

    bool operator==(const Advert&) const = default;
};
std::string to_json(const Advert& advert);
/// What cannot be read in the metadata is empty.
Advert advert_of(const Lease& lease);

/// Why an update cannot be advertised, with what to tell people; nothing if it can.
struct AdvertFault {
    Code code;
    std::string message;
};
std::optional<AdvertFault> fault_in(const discovery::Update& update);

}  // namespace holdfast::core
