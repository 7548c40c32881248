#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "statefile/state_db.h"
#include "store/durable.h"

namespace holdfast::statefile {

/// The longest TTL that a lease alive now may have been granted with: how long a start after an unclean stop must wait
/// (S1). Knows when the durable bound may come down.
///
/// Why it is right. The bound is raised on disk before a policy with a longer maximum takes effect, so no lease ever
/// has more than the bound on disk. After the maximum was lowered, grants and renewals get at most the new one (R1
/// passes the policy, R7), and every lease from before has ended one old bound later (T2): only then does the bound
/// come down. The same holds after a start: leases granted by earlier incarnations, and the wait for them, are over one
/// bound later.
class LongestTtl {
 public:
    /// `ttl_max` is in force from the first advance() on. `least` holds regardless of the policy: the longest TTL that
    /// any member of a cluster may grant.
    LongestTtl(Duration bound, Duration ttl_max, Duration least = {})
        : bound_(bound), ttl_max_(std::max(ttl_max, least)), least_(least) {}

    /// A policy with this maximum was made durable and took effect, before the next advance().
    void policy_took_effect(Duration ttl_max);

    /// Sets the time. A change counts from the first reading after it, which is late, never early.
    void advance(Instant now);

    /// The value to which the durable bound may come down at the last reading; nullopt if it must stay.
    std::optional<Duration> may_lower_to(Instant now) const;
    void lowered(Duration bound) { bound_ = bound; }

    /// When may_lower_to() will have a value; Instant::max() if it will not.
    Instant due() const;

 private:
    Duration bound_;
    Duration ttl_max_;
    Duration least_;
    std::optional<Instant> since_;
};

/// Writes the state that must survive a restart, on a thread of its own, so that a disk that stalls never stalls the
/// loop. Writes happen in the order of the calls; answers come on the loop, in that order. At most `max_waiting` writes
/// wait; more fail with `storage_failed`.
class DurableState final : public store::LocalDurable {
 public:
    static constexpr std::size_t max_waiting = 1024;

    struct Parts {
        StateDb& db;
        std::function<void(Callback<>)> post;               ///< runs a function on the loop; callable from any thread
        std::function<void(const Error&)> on_failure = {};  ///< on the loop, for every write that failed
        std::function<void()> on_written = {};              ///< on the loop, for every write that succeeded
    };
    explicit DurableState(Parts parts);
    ~DurableState() override;

    /// Starts the worker, which owns the StateDb until stop(). Writes requested before wait until now. REQUIRES:
    /// StateDb::begin() succeeded.
    void start(LongestTtl longest_ttl);

    void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
    void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) override;

    /// For a cluster node (StateDb::save_founders).
    void save_founders(std::vector<std::uint64_t> directories, Callback<Result<void>> done);

    void save_peer_lives(std::vector<store::quorum::LifeMark> lives, Callback<Result<void>> done);

    /// Sets the time. Lowers the longest TTL on disk once it may come down (LongestTtl).
    void advance(Instant now);
    Instant next_deadline() const;

    /// Waits until every requested write has finished and its answer is posted. REQUIRES: start() was called.
    void drain();
    /// As drain(); all later writes fail. Afterwards the caller may use the StateDb itself.
    void stop();

 private:
    using Work = std::function<Result<void>(StateDb&)>;
    struct Job {
        Work work;
        Callback<Result<void>> done;
    };

    void submit(Work work, Callback<Result<void>> done);
    void answer(Callback<Result<void>> done, Result<void> outcome);
    void run();

    StateDb& db_;
    std::function<void(Callback<>)> post_;
    std::function<void(const Error&)> on_failure_;
    std::function<void()> on_written_;

    // Used on the loop.
    LongestTtl longest_ttl_{Duration::zero(), Duration::zero()};
    std::size_t changes_under_way_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool working_ = false;
    bool stopped_ = false;
    std::thread worker_;
};

}  // namespace holdfast::statefile
