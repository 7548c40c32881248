#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace holdfast::discovery {

/// A change of a publisher's connection or of one of its services; reported once per change.
enum class PublisherEventKind : std::uint8_t {
    connected,
    disconnected,
    registered,
    recovered,    ///< renewed after failed renewals
    lost,         ///< no longer held; it is being registered again
    superseded,   ///< another publisher of this identity has the name: standing by
    standing_by,  ///< another identity has the name
    taken_again,  ///< registered again after it was lost
    refused,      ///< by the relay, with its code; retried, slowly if the policy refused it
    gave_up,      ///< a retry cannot succeed without a change
    unregistered,
    unserved,  ///< a consumer was refused since the target is unreachable; reported once, until it is reachable again
};
const char* to_string(PublisherEventKind happening);  ///< `taken_again`

struct PublisherEvent {
    PublisherEventKind what = PublisherEventKind::connected;
    std::string service{};  ///< its name; empty for events of the connection
    std::string code{};     ///< the relay's code, if it gave one
    std::string message{};  ///< for people
    std::uint64_t token = 0;
    Duration retry_in{};  ///< zero: no retry
};
using PublisherEvents = std::vector<PublisherEvent>;

}  // namespace holdfast::discovery
