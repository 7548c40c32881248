#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lease/lease.h"

namespace holdfast::keys::controller {

/// A name that at most one backend serves at a time, unique by namespace and name (K1). A key is the lease on
/// `KEY:name`, held by a drone, with the backend's id as its session.
struct Key {
    std::string name_space;  ///< never empty: `default` if none was given
    std::string name;
    std::string tag;

    bool operator==(const Key&) const = default;
    bool same_key(const Key& other) const { return name_space == other.name_space && name == other.name; }
};

inline constexpr std::string_view key_prefix = "KEY:";

/// The key with its name normalised like that of a resource. Error `invalid_argument` if a required part is empty, or a
/// part is too long or not plain text; `reserved_namespace` if the namespace begins with `~` or belongs to Redis
/// clients.
Result<Key> checked_key(Key key);

/// True for a valid name of a drone, a backend or a pool: letters, digits, `-`, `_` and `.`, not starting with a dot.
/// Such a name is also a safe file name.
bool is_plain_name(std::string_view text, std::size_t max_bytes);

/// The full name of the key's resource.
std::string resource_of(const Key& key);
/// The key of a resource, without its tag; nullopt if the resource is not a key.
std::optional<Key> key_of(std::string_view full_name);

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
