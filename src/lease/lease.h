#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "base/time.h"
#include "lease/predicate.h"
#include "lease/priority.h"

namespace holdfast::core {

/// The fencing token: proof of being the latest (G3). Zero is no token.
using Token = std::uint64_t;
inline constexpr Token token_limit = Token{1} << 53;  ///< every JSON reader keeps what is below exact

/// How far the work under a lease has come, and since when it stands there (R6).
struct Progress {
    std::uint64_t count = 0;
    Instant since;

    bool operator==(const Progress&) const = default;
};

/// One holder's claim on one resource until an instant. Which resource is the record's to know.
struct Lease {
    Token token = 0;
    Predicate predicate = Predicate::mutates;
    bool renewable = true;   ///< false once an admin barred it (R7)
    bool resumable = false;  ///< its agent said that it restarts: reserved for it past expiry (R5)
    bool metered = false;    ///< granted or renewed under a quota: the time it was held is remembered (R6)
    Duration ttl{};
    Instant acquired_at;
    Instant expires_at;
    Instant held_since;  ///< when its holder would have begun, had it held what counts against its quota at once (R6)
    std::optional<Priority> priority;  ///< of its agent (G5); none for a plain holder
    std::optional<Progress> progress;  ///< none if the holder does not count
    std::string holder;
    std::string session;  ///< empty: of this lease alone (G2)
    std::string reason;
    std::string metadata;  ///< a JSON object as text, or empty
    /// What the wall clock of the node that granted it showed then, so that all nodes show the same. For display only;
    /// 0: `acquired_at` says it.
    std::int64_t acquired_wall_ms = 0;

    /// T2: from expires_at on, nothing honours it.
    bool active(Instant now) const { return now < (mutant("early_expiry") ? expires_at - 1s : expires_at); }

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

/// The time that a holder without a lease still has on its account, and until when it held (R6). Each moment since then
/// takes one off.
struct PastHolding {
    std::string holder;
    Instant until;
    Duration held{};

    Instant forgotten_at() const { return until < Instant::max() - held ? until + held : Instant::max(); }

    bool operator==(const PastHolding&) const = default;
};

/// The state of a lease as told to whoever asks (R3, R4).
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

}  // namespace holdfast::core
