#pragma once

#include <functional>

#include "base/time.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::agreed {

/// The longest TTL that this server may grant, of the one that the servers agreed on.
///
/// They are the same except that a longer one is in force here only once the server's own disk has it, since that value
/// sets the waiting time of a start after an unclean stop (S1). All the rest of a policy is in force at once, so that a
/// disk that stalls never delays a ban (R7). Every change is written, one at a time; after a failure the newest is
/// written again.
class TtlInForce {
 public:
    struct Parts {
        store::LocalDurable& disk;
        Duration stored;  ///< as found on the disk
        Duration agreed;
        std::function<void(const Result<void>& stored)> on_stored;  ///< a write has finished
    };
    explicit TtlInForce(Parts parts);

    void agree(Duration ttl_max);
    /// Cuts the TTLs of a policy that was agreed on.
    void limit(lease::Policy& policy) const;
    /// True if the whole policy is in force.
    bool complete() const { return agreed_ <= stored_; }

    void advance(Instant now);
    Instant next_due() const;

 private:
    static constexpr Duration pause_after_failure = 1s;

    void write();
    void written(Duration ttl_max, const Result<void>& outcome);

    store::LocalDurable& disk_;
    Duration stored_;
    Duration agreed_;
    Duration written_;  ///< the last one that was requested
    std::function<void(const Result<void>&)> on_stored_;
    Instant now_{};
    Instant not_before_{};
    bool behind_;
    bool writing_ = false;
};

}  // namespace holdfast::agreed
