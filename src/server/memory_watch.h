#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/time.h"
#include "server/memory_gauge.h"

namespace holdfast {

/// How much memory a server takes if it is not told: three quarters of what its control group may have, or half of the
/// machine.
std::uint64_t default_memory_limit();

/// Reads how much memory this process has, and gives back what the allocator keeps after a burst.
///
/// It reads when it is told the time, at most every 10 ms. Memory is given back on a thread of its own: that takes
/// milliseconds for every 100 MB, and who allocates meanwhile may have to wait for it.
class MemoryWatch {
 public:
    struct Parts {
        std::uint64_t most = 0;             ///< bytes; zero: default_memory_limit()
        std::function<std::size_t()> kept;  ///< how many leases and waiters there are
        std::function<void(bool)> on_full;  ///< called when there is no room any more, and when there is again
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

}  // namespace holdfast
