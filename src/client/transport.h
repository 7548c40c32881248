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

namespace holdfast {

/// Giving leases back, or breaking an acquire off, may take this long if the authority does not answer; leases end by
/// themselves anyway.
constexpr Duration max_release = 1s;

/// As programs are told of durations, and never less.
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
    std::optional<std::uint64_t> epoch{};  ///< which life of an agent asks
};

/// A grant or a renewal, as durations from the authority's reading of its clock (T4).
struct Timing {
    core::Timeline timeline;
    Duration ttl{};
};
struct TimedGrant {
    Grant grant;
    Timing timing;
    HolderInstant counts_from;  ///< when the transmission that was answered was sent, and what it then waited (T3)
};
/// Granted; or the authority's no; or no answer that makes sense, and so nothing is known.
struct NoAnswer {
    std::string message;
    bool unsent = false;  ///< and so nothing came of it, for sure
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
    std::string session{};  ///< they were acquired in: for a release, which a leader proves with it (R2)
};
/// For each lease: renewed, or why not.
using RenewReply = std::variant<Timing, Error>;

/// An agent, to be registered; and as the authority knows it.
struct AgentAsk {
    std::string id{};
    std::optional<std::int64_t> priority{};
    std::optional<std::uint64_t> epoch{};
};
struct AgentKnown {
    std::int64_t priority = 0;
    std::uint64_t epoch = 0;
    std::uint64_t deaths = 0;
    bool created = false;  ///< by this very call
};
/// A lease of a holder, active or in grace, by the authority's word (R3).
struct VerifiedLease {
    std::string id{};
    std::string state{};  ///< `ACTIVE`, `GRACE`, …
    std::string resource{};
    Duration remaining{};  ///< until it ends, or is free for others
};

/// The way to an authority. Calls block, at most for `timeout` (for an acquire that includes its wait), and may come
/// from any thread; a waiting acquire does not hold up a renewal.
class Transport {
 public:
    virtual ~Transport() = default;

    /// A stop has the request leave the queue. The reply then says what came of it: a grant if it crossed the stop, the
    /// code `cancelled` if there is none, and no answer if that is not known after max_release.
    virtual AcquireReply acquire(const AcquireAsk& ask, Duration timeout, const std::stop_token& stop) = 0;

    /// One answer for each lease, in order; an error if there was none, or one for all (`stale_epoch`).
    virtual Result<std::vector<RenewReply>> renew(const NamedLeases& leases, Duration timeout) = 0;

    /// Success if the authority was told of every one; which of them it still knew does not matter (R2).
    virtual Result<void> release(const NamedLeases& leases, Duration timeout) = 0;

    /// Registers an agent, or brings it up to date (G5).
    virtual Result<AgentKnown> register_agent(const AgentAsk& agent, Duration timeout) = 0;
    /// DIE_RESTART (R5).
    virtual Result<void> declare_restart(const AgentAsk& agent, Duration timeout) = 0;
    /// All that an agent has and all that is reserved for it (R3).
    virtual Result<std::vector<VerifiedLease>> verify_all(const AgentAsk& agent, Duration timeout) = 0;

    /// Another way to the same authority, which can be stopped by itself.
    virtual std::shared_ptr<Transport> twin() const = 0;

    /// Ends every call that is under way and every later one.
    virtual void stop() = 0;
};

/// One renewal message names no more than the authority accepts.
inline constexpr std::size_t max_renewals_per_message = 1000;

}  // namespace holdfast
