#pragma once

#include <holdfast/lease.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"
#include "client/callbacks.h"
#include "client/transport.h"
#include "lease/holder_deadlines.h"

namespace holdfast::client {

/// The epoch of the agent that a client acts for, if any. Set by one thread, read by all.
class Epoch {
 public:
    explicit Epoch(std::optional<std::uint64_t> epoch = {}) : number_(epoch.value_or(none)) {}

    void set(std::uint64_t epoch) { number_.store(epoch); }
    std::optional<std::uint64_t> get() const {
        const std::uint64_t number = number_.load();
        return number == none ? std::nullopt : std::optional(number);
    }

 private:
    static constexpr std::uint64_t none = UINT64_MAX;
    std::atomic<std::uint64_t> number_;
};

/// The thread that drives a Keeper: it watches deadlines, lets a few workers send the due renewals, and lets the leases
/// run their callbacks on another thread. It never blocks on the network or on the program, so that renewals are sent
/// on time, and a lease ends on time even if the server hangs.
class KeeperThread {
 public:
    struct Config {
        std::shared_ptr<Transport> transport;
        std::string holder;
        std::shared_ptr<const Epoch> epoch;
        Duration timeout{};  ///< for one renewal message at most
    };
    /// Throws std::system_error if the system has no thread or fd left.
    explicit KeeperThread(Config config);
    /// REQUIRES: the transport was stopped. May run on one of its own threads, in or after a callback.
    ~KeeperThread();
    KeeperThread(const KeeperThread&) = delete;
    KeeperThread& operator=(const KeeperThread&) = delete;

    struct Task {
        std::shared_ptr<Lease::State> lease;
        lease::HolderDeadlines deadlines;
        bool renew = true;  ///< false: only its end is reported
    };
    void add(const Task& task);
    /// Removes a lease by the key that add() gave it. Afterwards the lease is neither renewed nor notified.
    void remove(std::uint64_t key);

    /// To be called before the first callback of a lease is set. Throws std::system_error if the system has no thread
    /// left.
    void start_callbacks() { callbacks_->start(); }

 private:
    struct Loop;
    const std::shared_ptr<Callbacks> callbacks_;
    std::shared_ptr<Loop> loop_;
    std::thread thread_;
};

}  // namespace holdfast::client
