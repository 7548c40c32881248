#pragma once

#include <cstdint>
#include <string_view>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::core {

/// The service of the server that a resource belongs to, by its name alone. The work under such a lease is known to its
/// service only, so no generic request frees it while that work may run: not a release, not a revocation, not a grant
/// in its place (R2, R7).
enum class Owner : std::uint8_t {
    nobody,     ///< whoever holds it
    keys,       ///< `KEY:name` in any namespace but those of Redis: given back by the controller (K6)
    directory,  ///< in `~services`: signed for by its publisher (D1)
    leaders,    ///< `leader:group`, likewise: given back by whoever knows the session it was taken in
    log,        ///< `leader:log`: the nodes' own (L1)
};
Owner owner_of(std::string_view full_name);  // inline, below: every request asks

/// The code and the words with which a generic request on such a lease is refused. REQUIRES: not nobody.
Code refusal_of(Owner owner);
std::string_view advice_of(Owner owner);

/// The session of a leader proves that it leads (R2), so no answer shows it but that to its acquire. A session that
/// begins with this is not shown with other leases either: those of a manifest that has a leader in it share its
/// session.
inline constexpr std::string_view private_session = "private:";
bool shows_session(std::string_view full_name, std::string_view session);

/// The namespaces of the databases of Redis, `redis` and `redis-N`: every name in them is a plain one.
bool is_redis_namespace(std::string_view name_space);

// ---- what most names are decided by ----

namespace detail {

constexpr std::string_view key_prefix = "KEY:", leader_prefix = "leader:";

/// REQUIRES: the name has a namespace, or begins as those of a service do.
Owner owner_of_special(std::string_view full_name);

}  // namespace detail

inline Owner owner_of(std::string_view full_name) {
    const bool special = has_prefix(full_name, "@") || has_prefix(full_name, detail::key_prefix) ||
                         has_prefix(full_name, detail::leader_prefix);
    return special ? detail::owner_of_special(full_name) : Owner::nobody;
}

}  // namespace holdfast::core
