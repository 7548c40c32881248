#pragma once

#include <functional>
#include <memory>

#include "store/durable.h"

namespace holdfast::agreed {

/// Derives the policy in force on this node from the policy that the nodes agreed on.
///
/// They are the same except for the TTLs: a longer maximum is in force only once the local state has stored it, since
/// that value sets the waiting time of a start after an unclean stop (S1). All the rest is in force at once, so that a
/// disk that stalls never delays a ban (R7). Every change of the maximum is written to the local state, one at a time;
/// after a failure the newest is written again.
class PolicyInForce {
 public:
    struct Parts {
        store::LocalDurable& local;
        Duration local_ttl_max;  ///< as stored in the local state
        lease::Policy agreed;
        /// Called when a write to the local state has finished; with the error if it failed.
        std::function<void(const Result<void>& told)> on_told;
    };
    explicit PolicyInForce(Parts parts);

    void agree(lease::Policy policy);
    const lease::Policy& agreed() const { return agreed_; }
    lease::Policy in_force() const;
    /// True if the two are the same.
    bool complete() const { return agreed_.ttl_max <= local_ttl_max_; }

    void advance(Instant now);
    Instant next_due() const;

 private:
    static constexpr Duration pause_after_failure = 1s;

    void tell();
    void told(Duration ttl_max, const Result<void>& outcome);

    store::LocalDurable& local_;
    Duration local_ttl_max_;
    Duration told_ttl_max_;  ///< the last value written
    lease::Policy agreed_;
    std::function<void(const Result<void>&)> on_told_;
    Instant now_{};
    Instant not_before_{};
    bool behind_;
    bool telling_ = false;
};

}  // namespace holdfast::agreed
