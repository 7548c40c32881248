#pragma once

#include <holdfast/lease.h>

#include <memory>

namespace holdfast {

/// The thread on which the callbacks of a client's leases run, one at a time, so that a slow one holds up no renewal.
///
/// A lease waits here at most once, whatever happened to it: it knows itself what is to be told, and of several changes
/// it tells the last. So no more waits than there are leases, and nothing is ever turned away.
class Callbacks {
 public:
    Callbacks();
    /// As stop().
    ~Callbacks();
    Callbacks(const Callbacks&) = delete;
    Callbacks& operator=(const Callbacks&) = delete;

    /// Starts the thread, unless it runs. Throws std::system_error if the system has none left.
    void start();

    /// REQUIRES: started, and the lease does not wait here.
    void submit(std::shared_ptr<Lease::State> lease);

    /// Drops what waits, and waits for the callback that is running. Does not wait inside of a callback: two that
    /// destroy each other's client would wait for ever.
    void stop();

    /// True on the thread of this or another object of this class.
    static bool is_this_thread() noexcept;

 private:
    struct Queue;
    const std::shared_ptr<Queue> queue_;
};

}  // namespace holdfast
