#pragma once

#include <string>
#include <string_view>

#include "keys/protocol.h"
#include "lease/lease.h"

namespace holdfast::keys::controller {

/// A drone's incarnation id in the form that may be shown. The id itself is the drone's secret, 128 random bits: anyone
/// who knows it can speak for the drone, and so for its keys. The shown form is a 64-bit hash, which reveals at most
/// half of them.
std::string shown_life(std::string_view life);

/// The backend of a key, as recorded in the metadata of the key's lease.
struct KeyNote {
    std::string backend;
    std::string tag;
    std::string drone;
    std::string life;  ///< the drone's incarnation, as shown_life() gives it
    std::string user;  ///< the user it was started for; informational
};
std::string to_json(const KeyNote& note);
/// Fields that cannot be read from the metadata are empty. The backend is always the lease's session, and the drone its
/// holder.
KeyNote note_of(const lease::Lease& lease);

/// When a drone must act on a key, on the store's clock (T4): renew at 1/2 of the TTL, terminate at 2/3, kill at 5/6.
/// Always in this order, even if some of the instants are already past.
struct KeyTimeline {
    Instant renew_at;
    Instant soft_terminate_at;
    Instant hard_terminate_at;
};
KeyTimeline key_timeline_of(const lease::Lease& lease);

}  // namespace holdfast::keys::controller
