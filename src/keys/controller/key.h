#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lease/lease.h"

namespace holdfast::core {

/// What one backend, and only one, may serve at a time: unique by namespace and name (K1). A key is the lease on
/// `KEY:name`, held by a drone, with the backend's id as its session.
struct Key {
    std::string name_space;  ///< never empty: `default` if none was said
    std::string name;
    std::string tag;

    bool operator==(const Key&) const = default;
    bool same_key(const Key& other) const { return name_space == other.name_space && name == other.name; }
};

inline constexpr std::string_view key_prefix = "KEY:";

/// The key under its one name, as a resource has one. Error `invalid_argument` for a part that is empty where it must
/// not be, too long, or no plain text.
Result<Key> checked_key(Key key);

/// True for what may name a drone, a backend or a pool: letters, digits, `-`, `_` and `.`, not first a dot. Such a name
/// is also a safe file name.
bool is_plain_name(std::string_view text, std::size_t max_bytes);

/// The full name of the key's resource.
std::string resource_of(const Key& key);
/// The key of a resource, without its tag; nothing if it is not the resource of one.
std::optional<Key> key_of(std::string_view full_name);

/// A drone's life as it is shown. The life itself is the drone's secret, 128 random bits: whoever names it speaks for
/// the drone, and so for its keys. Half of that is in the 64 bits that are shown.
std::string shown_life(std::string_view life);

/// What the lease of a key says of its backend, as the lease's metadata.
struct KeyNote {
    std::string backend;
    std::string tag;
    std::string drone;
    std::string life;  ///< of the drone, as shown_life() has it
    std::string user;  ///< for whom it was started; for people
};
std::string to_json(const KeyNote& note);
/// What cannot be read in the metadata is empty. The backend is the session and the drone the holder, whatever it says.
KeyNote note_of(const Lease& lease);

/// When a drone does what about a key, on the clock of the store (T4): renew at 1/2 of the TTL, stop gently at 2/3,
/// kill at 5/6. Always in this order, however late it is already.
struct KeyTimeline {
    Instant renew_at;
    Instant soft_terminate_at;
    Instant hard_terminate_at;
};
KeyTimeline key_timeline_of(const Lease& lease);

}  // namespace holdfast::core
