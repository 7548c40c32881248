#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace holdfast::discovery {

/// What became of a publisher's connection or of one of its services, once for each change.
enum class PublisherEventKind : std::uint8_t {
    connected,
    disconnected,
    registered,
    recovered,    ///< renewed, after renewals had failed
    lost,         ///< held no more; it is being registered again
    superseded,   ///< another publisher of this identity has the name: standing by
    standing_by,  ///< another identity has the name
    taken_again,  ///< registered, after having been lost
    refused,      ///< by the relay, with its code; asked again slowly, for a policy may change
    gave_up,      ///< asking again as is cannot help
    unregistered,
    unserved,  ///< somebody was turned away: the target cannot be reached; told once, until it can be again
};
const char* to_string(PublisherEventKind happening);  ///< `taken_again`

struct PublisherEvent {
    PublisherEventKind what = PublisherEventKind::connected;
    std::string service{};  ///< its name; empty for the connection
    std::string code{};     ///< of the relay, if it gave one
    std::string message{};  ///< a sentence for people
    std::uint64_t token = 0;
    Duration retry_in{};  ///< zero if nothing is to be tried again
};
using PublisherEvents = std::vector<PublisherEvent>;

}  // namespace holdfast::discovery
