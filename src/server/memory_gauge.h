#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace holdfast::server {

/// Decides whether a server has room for more, and when it should return memory to the system.
///
/// Pure: the caller passes the time, the resident memory of the process, and the number of leases and waiters.
class MemoryGauge {
 public:
    /// `most`: the limit of resident memory, in bytes. REQUIRES: most > 0.
    explicit MemoryGauge(std::uint64_t most) : most_(most) {}

    struct Reading {
        std::uint64_t resident = 0;  ///< bytes
        std::size_t kept = 0;        ///< leases and waiters
    };
    void read(Reading reading, Instant now);

    /// Memory was returned to the system; `reading` is from afterwards.
    void trimmed(Reading reading);

    /// Whether new leases and waiters must be refused. Starts 5 % below the limit. Ends 10 % below it, or when a
    /// quarter of the leases and waiters have ended: the memory of small leases stays resident for minutes, but is
    /// reused for others.
    bool full() const { return full_; }
    /// Whether the allocator may be keeping free memory: after a burst, or when the server is full.
    bool wants_trim(Instant now) const;
    /// When to read again even without requests; Instant::max() if never.
    Instant next_due(Instant now) const;

    std::uint64_t most() const { return most_; }

 private:
    void judge(Reading reading);
    bool grew_much() const;
    bool shrank_much() const;

    std::uint64_t most_;
    Reading last_;
    std::uint64_t after_trim_ = 0;    // resident bytes after the last trim
    std::size_t max_kept_ = 0;        // since the last trim
    std::uint64_t a_while_ago_ = 0;   // resident bytes at the last sample
    Instant looked_at_ = Instant{};   // time of that sample
    bool grows_ = false;              // resident memory grew between the last two samples
    Instant trim_again_ = Instant{};  // no trim before this
    bool full_ = false;
    std::size_t kept_when_full_ = 0;
    std::uint64_t reusable_up_to_ = 0;  // resident bytes below which it is not full, as some are free
};

}  // namespace holdfast::server
