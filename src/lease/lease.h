#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "lease/predicate.h"

namespace holdfast::core {

/// The fencing token: proof of being the latest (G3). Zero is no token.
using Token = std::uint64_t;
inline constexpr Token token_limit = Token{1} << 53;  ///< every JSON reader keeps what is below exact

/// One holder's claim on one resource until an instant. Which resource is the record's to know.
struct Lease {
    Token token = 0;
    Predicate predicate = Predicate::mutates;
    bool renewable = true;  ///< false once an admin barred it (R7)
    Duration ttl{};
    Instant acquired_at;
    Instant expires_at;
    std::string holder;
    std::string session;
    std::string reason;
    std::string metadata;  ///< a JSON object as text, or empty

    /// T2: from expires_at on, nothing honours it.
    bool active(Instant now) const { return now < expires_at; }

    bool operator==(const Lease&) const = default;
};

/// How a lease ended (R4).
enum class Ending : std::uint8_t { released, expired, revoked };

/// What is remembered of a lease that ended (R3).
struct EndedLease {
    Token token = 0;
    Ending how = Ending::expired;
    Instant at;

    bool operator==(const EndedLease&) const = default;
};

/// The state of a lease as told to whoever asks (R3, R4).
enum class LeaseState : std::uint8_t { active, released, expired, revoked, unknown };
std::string_view to_string(LeaseState state);
LeaseState state_of(Ending ending);

/// The name of a lease: `resource#token`. The resource may itself contain `#`; the last one counts.
struct LeaseName {
    std::string resource;
    Token token = 0;

    bool operator==(const LeaseName&) const = default;
};
std::string to_string(const LeaseName& name);
std::optional<LeaseName> parse_lease_name(std::string_view text);

}  // namespace holdfast::core
