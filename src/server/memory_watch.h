#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/time.h"
#include "server/memory_gauge.h"

namespace holdfast::server {

/// The default memory limit of a server, in bytes: three quarters of the limit of its control group, or half of the
/// machine.
std::uint64_t default_memory_limit();

/// Measures the memory of this process, and returns to the system what the allocator keeps after a burst.
///
/// It measures in advance(), at most every 10 ms. A separate thread returns the memory: that takes milliseconds per 100
/// MB, and concurrent allocations may have to wait for it.
class MemoryWatch {
 public:
    struct Parts {
        std::uint64_t most = 0;             ///< bytes; zero: default_memory_limit()
        std::function<std::size_t()> kept;  ///< the number of leases and waiters
        std::function<void(bool)> on_full;  ///< called when memory becomes full (true), or has room again
    };
    explicit MemoryWatch(Parts parts);
    ~MemoryWatch();
    MemoryWatch(const MemoryWatch&) = delete;
    MemoryWatch& operator=(const MemoryWatch&) = delete;

    void advance(Instant now);
    Instant next_due() const { return next_due_; }

    std::uint64_t most() const { return gauge_.most(); }

 private:
    MemoryGauge::Reading reading() const;
    void trim();

    Parts parts_;
    MemoryGauge gauge_;
    int statm_;  // /proc/self/statm
    Instant read_again_{};
    Instant next_due_ = Instant::max();
    bool full_ = false;
    std::thread trimmer_;
    bool trimming_ = false;
    std::atomic<bool> trimmed_ = false;
};

}  // namespace holdfast::server
