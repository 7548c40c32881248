#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::auth {

/// What a principal may be granted to do (A2). One verb is enough to take a lock. The numbers are stored
/// (proto/log.proto): a new verb goes last, and none changes its place.
enum class Verb : std::uint8_t {
    hold,           ///< acquire, wait, renew, release, re-assert
    read,           ///< list, get, verify, watch, history, waiters, leaders
    connect,        ///< to keys, which starts their backends
    drone,          ///< run the backends of keys, and so hold these
    advertise,      ///< services
    reach,          ///< services
    admin_leases,   ///< bar and revoke
    admin_policy,   ///< settings of namespaces, bans, approvals, rules for names
    admin_auth,     ///< principals, roles, API tokens, mappings of certificates
    admin_cluster,  ///< members, and what is about the servers themselves
    metrics,
};
inline constexpr std::size_t verb_count = static_cast<std::size_t>(Verb::metrics) + 1;

/// As people write it, such as `admin.leases`.
std::string_view name_of(Verb verb);
std::optional<Verb> verb_in(std::string_view name);

/// A set of verbs.
class Verbs {
 public:
    constexpr Verbs() = default;
    constexpr Verbs(std::initializer_list<Verb> verbs) {
        for (const Verb verb : verbs)
            bits_ |= bit(verb);
    }
    static constexpr Verbs all() { return Verbs((1U << verb_count) - 1); }

    constexpr bool has(Verb verb) const { return (bits_ & bit(verb)) != 0; }
    constexpr bool has_any(Verbs verbs) const { return (bits_ & verbs.bits_) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr Verbs with(Verbs verbs) const { return Verbs(bits_ | verbs.bits_); }
    constexpr Verbs without(Verbs verbs) const { return Verbs(bits_ & ~verbs.bits_); }

    /// A bit for each verb, by its number.
    constexpr std::uint32_t bits() const { return bits_; }
    /// Returns nullopt if a bit is set that is no verb's.
    static std::optional<Verbs> from_bits(std::uint32_t bits);

    constexpr bool operator==(const Verbs&) const = default;

 private:
    constexpr explicit Verbs(std::uint32_t bits) : bits_(bits) {}
    static constexpr std::uint32_t bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }

    std::uint32_t bits_ = 0;
};

/// The names with a comma between them: `hold,read`.
std::string to_string(Verbs verbs);
/// Error `invalid_argument`, naming the first name that is no verb's.
Result<Verbs> parse_verbs(std::string_view names);

/// Those whose requests act as a holder, to whom the grant must be bound (A4). A publisher is its signing key (D1), and
/// all others act as nobody but their principal.
inline constexpr Verbs as_a_holder{Verb::hold, Verb::drone};
/// Those about the whole server, where neither namespace nor prefix means anything.
inline constexpr Verbs server_wide{Verb::admin_auth, Verb::admin_cluster, Verb::metrics};

/// The verb that acquiring, renewing and releasing this resource takes: by the service that it belongs to
/// (lease/owner.h).
Verb verb_to_hold(std::string_view full_name);

}  // namespace holdfast::auth
