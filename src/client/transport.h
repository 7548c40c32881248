#pragma once

#include <holdfast/client.h>

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lease/timeline.h"

namespace holdfast {

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
};

/// A grant or a renewal, as durations from the authority's reading of its clock (T4).
struct Timing {
    core::Timeline timeline;
    Duration ttl{};
};
struct TimedGrant {
    Grant grant;
    Timing timing;
};
/// Granted; or the authority's no; or no answer that makes sense, and so nothing is known.
struct NoAnswer {
    std::string message;
};
using AcquireReply = std::variant<std::vector<TimedGrant>, Failure, NoAnswer>;

/// Leases of one holder, by name.
struct NamedLeases {
    std::string holder{};
    std::vector<std::string> ids;
};
/// For each lease: renewed, or why not.
using RenewReply = std::variant<Timing, Error>;

/// The way to an authority. Calls block, at most for `timeout` (for an acquire that includes its wait), and may come
/// from any thread; a waiting acquire does not hold up a renewal.
class Transport {
 public:
    virtual ~Transport() = default;

    virtual AcquireReply acquire(const AcquireAsk& ask, Duration timeout) = 0;

    /// One answer for each lease, in order; an error if there was none.
    virtual Result<std::vector<RenewReply>> renew(const NamedLeases& leases, Duration timeout) = 0;

    /// Success if the authority was told of every one; which of them it still knew does not matter (R2).
    virtual Result<void> release(const NamedLeases& leases, Duration timeout) = 0;

    /// Ends every call that is under way and every later one.
    virtual void stop() = 0;
};

/// One renewal message names no more than the authority accepts.
inline constexpr std::size_t renewals_per_message_max = 1000;

}  // namespace holdfast
