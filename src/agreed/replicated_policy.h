#pragma once

#include <functional>
#include <memory>

#include "store/durable.h"

namespace holdfast {

/// Between the policy that the nodes agreed on and the one in force on this node.
///
/// They are the same but for the TTLs: a longer maximum is in force only once the local state has it, since a start
/// after an unclean stop waits for as long as that says (S1). All the rest is in force at once, so that a disk that
/// stalls never delays a ban (R7). The local state is told of every change of the maximum, one at a time, and of the
/// newest again after a failure.
class PolicyInForce {
 public:
    struct Parts {
        core::LocalDurable& local;
        Duration local_ttl_max;  ///< that the local state has
        core::Policy agreed;
        /// The local state has answered; the error, if it failed.
        std::function<void(const Result<void>& told)> on_told;
    };
    explicit PolicyInForce(Parts parts);

    void agree(core::Policy policy);
    const core::Policy& agreed() const { return agreed_; }
    core::Policy in_force() const;
    /// True if the two are the same.
    bool complete() const { return agreed_.ttl_max <= local_ttl_max_; }

    void advance(Instant now);
    Instant next_due() const;

 private:
    static constexpr Duration pause_after_failure = 1s;

    void tell();
    void told(Duration ttl_max, const Result<void>& outcome);

    core::LocalDurable& local_;
    Duration local_ttl_max_;
    Duration told_ttl_max_;  ///< last
    core::Policy agreed_;
    std::function<void(const Result<void>&)> on_told_;
    Instant now_{};
    Instant not_before_{};
    bool behind_;
    bool telling_ = false;
};

}  // namespace holdfast
