#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "authority/answers.h"
#include "discovery/protocol.h"
#include "lease/lease.h"

namespace holdfast::discovery::directory {

/// The advertisement of a service, stored as the metadata of its lease (D2).
struct Advert {
    std::string address;
    std::vector<std::string> alpn;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::string from;  ///< the publisher's IP address
    std::int64_t first_seen_ms = 0;
    std::uint64_t life = 0;        ///< incarnation of the relay that granted it
    std::string relay;             ///< the address of that relay
    std::uint64_t connection = 0;  ///< of its publisher with that relay; 0: none (R8)
    std::uint32_t node = 0;        ///< the cluster node of that relay, counted from 1; 0: not in a cluster

    bool operator==(const Advert&) const = default;
};
std::string to_json(const Advert& advert);
/// Fields that cannot be read from the metadata are empty.
Advert advert_of(const lease::Lease& lease);

/// Why an update cannot be advertised; nullopt if it can.
std::optional<authority::Refused> fault_in(const Update& update);

}  // namespace holdfast::discovery::directory
