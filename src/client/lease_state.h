#pragma once

#include <holdfast/client.h>
#include <holdfast/lease.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "client/forks.h"
#include "client/held_until.h"
#include "lease/holder_deadlines.h"

namespace holdfast {

/// The state that a Lease shares with the keeper: the keeper moves the deadlines and reports loss, all other threads
/// read.
struct Lease::State {
    State(std::vector<Grant> granted, std::string in_session, const lease::HolderDeadlines& deadlines,
          std::shared_ptr<Client::Core> owner);

    bool held() noexcept { return born_ == client::forks() && until_.held_by(holder_clock_now); }
    Remaining remaining() noexcept;
    Outcome outcome() noexcept { return held() ? outcome_.load(std::memory_order_relaxed) : Outcome::lost; }

    void on_lost(std::function<void(const Failure&)> callback);
    void on_change(std::function<void(Outcome)> callback);
    bool release();
    /// Stops renewing the lease without releasing it: it ends by itself.
    void abandon();

    void set_progress(std::uint64_t count) noexcept { progress_.store(count, std::memory_order_relaxed); }
    std::optional<std::uint64_t> progress() const noexcept {
        const std::uint64_t count = progress_.load(std::memory_order_relaxed);
        return count == no_progress ? std::nullopt : std::optional(count);
    }

    /// For the keeper. Returns false if the lease was already over: it stays over.
    bool move(const lease::HolderDeadlines& deadlines, HolderInstant now) noexcept;
    /// For the keeper: records a successful renewal, or the first failed one. Returns true if the caller must submit
    /// the lease to Callbacks.
    [[nodiscard]] bool change(Outcome outcome);
    /// For the keeper: ends the lease, unless it was released or lost before. Returns as change() does.
    [[nodiscard]] bool lose(Failure failure);
    /// Why it was lost, once the keeper has said so.
    std::optional<Failure> lost();
    /// For Callbacks: runs the callback for the recorded loss or change; a loss takes precedence.
    void call_back() noexcept;

    const std::vector<Grant> grants;
    const std::string session;  ///< in which they were acquired
    std::uint64_t key = 0;      ///< its key in the keeper, which sets it before any other thread sees the lease

 private:
    static constexpr std::uint64_t no_progress = UINT64_MAX;

    void set_soft_and_hard(const lease::HolderDeadlines& deadlines) noexcept;
    std::shared_ptr<Client::Core> finish();

    const std::uint32_t born_ = client::forks();
    client::HeldUntil until_;
    std::atomic<std::int64_t> soft_;
    std::atomic<std::int64_t> hard_;
    std::atomic<Outcome> outcome_ = Outcome::granted;
    std::atomic<std::uint64_t> progress_ = no_progress;

    std::mutex mutex_;  ///< never held while a callback runs
    std::condition_variable called_;
    std::thread::id caller_;              ///< the thread that runs a callback: release() waits for it
    std::shared_ptr<Client::Core> core_;  ///< until released
    std::optional<Failure> lost_;         ///< set once
    std::optional<Outcome> untold_;       ///< the last change that on_change_ has not been called with
    bool queued_ = false;                 ///< in Callbacks
    bool told_ = false;                   ///< the server confirmed release()
    std::shared_ptr<const std::function<void(const Failure&)>> on_lost_;
    std::shared_ptr<const std::function<void(Outcome)>> on_change_;
};

}  // namespace holdfast
