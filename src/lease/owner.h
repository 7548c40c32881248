#pragma once

#include <cstdint>
#include <string_view>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::lease {

/// The service of the server that owns a resource, derived from the name alone. Only that service knows the work under
/// such a lease. So no generic request (release, revocation, grant in its place) frees it while that work may run (R2,
/// R7).
enum class Owner : std::uint8_t {
    nobody,     ///< no service: the holder alone decides
    keys,       ///< `KEY:name` in any namespace except those of Redis: released by the controller (K6)
    directory,  ///< in `~services`: signed for by its publisher (D1)
    leaders,    ///< `leader:group`, likewise: released by a caller that knows the session of the acquire
    log,        ///< `leader:log`: used by the nodes themselves (L1)
};
Owner owner_of(std::string_view full_name);  // inline, below: on the path of every request

/// The code and the message with which a generic request on such a lease is refused. REQUIRES: owner is not nobody.
Code refusal_of(Owner owner);
std::string_view advice_of(Owner owner);

/// The session of a leader proves that it leads (R2), so only the answer to its acquire contains it. A session with
/// this prefix is hidden for other leases too: the leases of a manifest that includes a leader share its session.
inline constexpr std::string_view private_session = "private:";
bool shows_session(std::string_view full_name, std::string_view session);

/// The namespaces of the Redis databases, `redis` and `redis-N`. No name in them belongs to a service.
bool is_redis_namespace(std::string_view name_space);

// ---- implementation: the fast path for most names ----

namespace detail {

constexpr std::string_view key_prefix = "KEY:", leader_prefix = "leader:";

/// REQUIRES: the name has a namespace or begins with key_prefix or leader_prefix.
Owner owner_of_special(std::string_view full_name);

}  // namespace detail

inline Owner owner_of(std::string_view full_name) {
    const bool special = has_prefix(full_name, "@") || has_prefix(full_name, detail::key_prefix) ||
                         has_prefix(full_name, detail::leader_prefix);
    return special ? detail::owner_of_special(full_name) : Owner::nobody;
}

}  // namespace holdfast::lease
