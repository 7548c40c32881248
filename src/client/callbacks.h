#pragma once

#include <holdfast/lease.h>

#include <memory>

namespace holdfast::client {

/// The thread on which the callbacks of a client's leases run, one at a time, so that a slow callback delays no
/// renewal.
///
/// A lease is queued at most once: it records its own pending notification, and of several changes it reports only the
/// last. So the queue is never longer than the number of leases, and submit() never refuses.
class Callbacks {
 public:
    Callbacks();
    /// As stop().
    ~Callbacks();
    Callbacks(const Callbacks&) = delete;
    Callbacks& operator=(const Callbacks&) = delete;

    /// Starts the thread, unless it is running. Throws std::system_error if the system has no thread left.
    void start();

    /// REQUIRES: started, and the lease is not queued.
    void submit(std::shared_ptr<Lease::State> lease);

    /// Drops the queue, and waits for the running callback. Does not wait when called from a callback: two callbacks
    /// that destroy each other's client would deadlock.
    void stop();

    /// True on the callback thread of any Callbacks object.
    static bool is_this_thread() noexcept;

 private:
    struct Queue;
    const std::shared_ptr<Queue> queue_;
};

}  // namespace holdfast::client
