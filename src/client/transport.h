#pragma once

#include <holdfast/client.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lease/timeline.h"

namespace holdfast::client {

/// The time limit for releasing leases or cancelling an acquire if the authority does not answer; leases end by
/// themselves anyway.
constexpr Duration max_release = 1s;

/// Converts a duration for the program, rounded up.
inline std::chrono::milliseconds whole_ms(Duration duration) {
    return std::chrono::ceil<std::chrono::milliseconds>(duration);
}

/// A request for leases. Repeated with the same key and the same content it returns the first answer (G7).
struct AcquireAsk {
    std::string holder{};
    std::string session{};
    std::string name_space{};
    std::vector<Intent> intents{};
    Duration ttl{};   ///< zero: the authority's default
    Duration wait{};  ///< how long to wait for a turn
    std::string reason{};
    std::string metadata{};
    std::string idempotency_key{};
    std::optional<std::uint64_t> epoch{};  ///< of the requesting agent
};

/// A grant or a renewal, as durations from the authority's reading of its clock (T4).
struct Timing {
    lease::Timeline timeline;
    Duration ttl{};
    std::optional<Duration> cut_from{};  ///< the requested TTL, if the policy cut it
};
struct TimedGrant {
    Grant grant;
    Timing timing;
    HolderInstant sent_at{};  ///< of the transmission that was answered
    Duration waited{};        ///< how long that one then waited for its turn
};
/// The reply to an acquire: granted; or refused by the authority; or no valid answer, so that the result is unknown.
struct NoAnswer {
    std::string message;
    bool unsent = false;  ///< it certainly had no effect
};
using AcquireReply = std::variant<std::vector<TimedGrant>, Failure, NoAnswer>;

/// Leases of one holder, by name.
struct NamedLease {
    std::string id{};
    std::optional<std::uint64_t> progress{};  ///< for a renewal (R6)
};
struct NamedLeases {
    std::string holder{};
    std::vector<NamedLease> leases{};
    std::optional<std::uint64_t> epoch{};
    std::string session{};          ///< in which they were acquired: proves a leader's release (R2)
    std::optional<Duration> ttl{};  ///< for a renewal; none: as before
};
/// For each lease: renewed, or the error.
struct Renewed {
    Timing timing;
    Grant grant{};  ///< as far as the authority describes it
};
using RenewReply = std::variant<Renewed, Error>;
/// For each lease: the state in which it is now (`RELEASED`, `EXPIRED`, …), or the error.
struct Released {
    std::string state;
};
using ReleaseReply = std::variant<Released, Error>;

/// An agent as a request names it, and as the authority knows it.
struct AgentAsk {
    std::string id{};
    std::optional<std::int64_t> priority{};
    std::optional<std::uint64_t> epoch{};
};
struct AgentKnown {
    std::int64_t priority = 0;
    std::uint64_t epoch = 0;
    std::uint64_t deaths = 0;
    bool created = false;  ///< by this call
};
/// A lease of a holder, active or in grace, as the authority reports it (R3).
struct VerifiedLease {
    std::string id{};
    std::string state{};  ///< `ACTIVE`, `GRACE`, …
    std::string resource{};
    Duration remaining{};  ///< until it ends, or is free for others
};

/// The connection to an authority. Calls block for at most `timeout` (for an acquire that includes its wait), and may
/// come from any thread; a waiting acquire does not delay a renewal.
class Transport {
 public:
    virtual ~Transport() = default;

    /// `stop` takes the request out of the queue. The reply then gives its result: a grant if it crossed the stop, the
    /// code `cancelled` if nothing was granted, and NoAnswer if the result is not known after max_release.
    virtual AcquireReply acquire(const AcquireAsk& ask, Duration timeout, const std::stop_token& stop) = 0;

    /// One answer for each lease, in order; an error if no answer arrived, or if one error applies to all
    /// (`stale_epoch`).
    virtual Result<std::vector<RenewReply>> renew(const NamedLeases& leases, Duration timeout) = 0;

    /// One answer for each lease, in order; an error if one of them got no answer.
    virtual Result<std::vector<ReleaseReply>> release(const NamedLeases& leases, Duration timeout) = 0;

    /// Registers an agent, or updates it (G5).
    virtual Result<AgentKnown> register_agent(const AgentAsk& agent, Duration timeout) = 0;
    /// DIE_RESTART (R5).
    virtual Result<void> declare_restart(const AgentAsk& agent, Duration timeout) = 0;
    /// All leases that an agent holds or that are reserved for it (R3).
    virtual Result<std::vector<VerifiedLease>> verify_all(const AgentAsk& agent, Duration timeout) = 0;

    /// Another transport to the same authority, which can be stopped independently.
    virtual std::shared_ptr<Transport> twin() const = 0;

    /// Ends every current call and every later one.
    virtual void stop() = 0;
};

/// The authority's limit on leases in one renewal message.
inline constexpr std::size_t max_renewals_per_message = 1000;

}  // namespace holdfast::client
