#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "statefile/longest_ttl.h"
#include "statefile/state_db.h"
#include "store/durable.h"

namespace holdfast {

/// Writes the state that must survive a restart, on a thread of its own, so that a disk that stalls never stalls the
/// loop. Writes happen in the order of the calls; answers come on the loop, in that order. At most `max_waiting` writes
/// wait; more fail with `storage_failed`.
class DurableState final : public core::LocalDurable {
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

    void reserve_tokens(core::Token ceiling, Callback<Result<void>> done) override;
    void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) override;

    /// For a cluster node (StateDb::save_founders).
    void save_founders(std::vector<std::uint64_t> directories, Callback<Result<void>> done);

    void save_peer_lives(std::vector<core::LifeMark> lives, Callback<Result<void>> done);

    /// Sets the time. Lowers the longest TTL on disk once it may come down (longest_ttl.h).
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

}  // namespace holdfast
