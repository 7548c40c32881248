#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "lease/predicate.h"
#include "lease/priority.h"

namespace holdfast::lease {

/// The fencing token: proves which grant is the latest (G3). Zero means no token.
using Token = std::uint64_t;
inline constexpr Token token_limit = Token{1} << 53;  ///< every JSON reader represents smaller numbers exactly

/// The progress counter of a lease and the time of its last change (R6).
struct Progress {
    std::uint64_t count = 0;
    Instant since;

    bool operator==(const Progress&) const = default;
};

/// One holder's claim on one resource until an instant. The record knows which resource.
struct Lease {
    Token token = 0;
    Predicate predicate = Predicate::mutates;
    bool renewable = true;   ///< false once an admin barred it (R7)
    bool resumable = false;  ///< its agent declared a restart: stays reserved for it past expiry (R5)
    bool metered = false;    ///< granted or renewed under a quota: its holding time is recorded when it ends (R6)
    Duration ttl{};
    Instant acquired_at;
    Instant expires_at;
    Instant held_since;  ///< start of the holding time charged to the quota, moved back by earlier holdings (R6)
    std::optional<Priority> priority;  ///< the agent's priority (G5); none for a plain holder
    std::optional<Progress> progress;  ///< none if the holder reports no progress
    std::string holder;
    std::string session;  ///< empty: a session of this lease alone (G2)
    std::string reason;
    std::string metadata;  ///< a JSON object as text, or empty
    /// Wall-clock time of the grant on the node that granted it, so that all nodes display the same time. For display
    /// only; 0: derive it from `acquired_at`.
    std::int64_t acquired_wall_ms = 0;

    /// The bytes of its texts, for the limits of answers.
    std::size_t text_bytes() const { return holder.size() + session.size() + reason.size() + metadata.size(); }

    /// T2: the lease is void from expires_at on.
    bool active(Instant now) const { return now < expires_at; }

    bool operator==(const Lease&) const = default;
};

/// How a lease ended (R4).
enum class Ending : std::uint8_t { released, expired, revoked };

/// The history entry of a lease that ended (R3).
struct EndedLease {
    Token token = 0;
    Ending how = Ending::expired;
    Instant at;

    bool operator==(const EndedLease&) const = default;
};

/// The holding time still charged to a holder that has no lease, and the instant its holding ended (R6). The charge
/// shrinks by the time passed since then.
struct PastHolding {
    std::string holder;
    Instant until;
    Duration held{};

    Instant forgotten_at() const { return until < Instant::max() - held ? until + held : Instant::max(); }

    bool operator==(const PastHolding&) const = default;
};

/// The state of a lease as reported to clients (R3, R4).
/// `grace`: expired, and reserved for its agent (R5).
enum class LeaseState : std::uint8_t { active, grace, released, expired, revoked, unknown };
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

}  // namespace holdfast::lease
