#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace holdfast {

/// Whether a server has room for more, and when it should give memory back to the system.
///
/// Pure: it is told the time, how much memory the process has resident, and how many leases and waiters there are.
class MemoryGauge {
 public:
    /// REQUIRES: most > 0; the bytes that the process may have resident.
    explicit MemoryGauge(std::uint64_t most) : most_(most) {}

    struct Reading {
        std::uint64_t resident = 0;  ///< bytes
        std::size_t kept = 0;        ///< leases and waiters
    };
    void read(Reading reading, Instant now);

    /// Memory was given back; this is left.
    void trimmed(Reading reading);

    /// Nothing new is to be taken in. Begins 5 % below the limit. Ends 10 % below it, or when a quarter of the leases
    /// and waiters have ended: what small leases took stays resident for minutes, and is used again for others.
    bool full() const { return full_; }
    /// There may be free memory that the allocator keeps: after a burst, or when there is no room.
    bool wants_trim(Instant now) const;
    /// When to read again though nobody asks for anything; the far future if never.
    Instant next_due(Instant now) const;

    std::uint64_t most() const { return most_; }

 private:
    void judge(Reading reading);
    bool grew_much() const;
    bool shrank_much() const;

    std::uint64_t most_;
    Reading last_;
    std::uint64_t after_trim_ = 0;    // resident, when memory was last given back
    std::size_t max_kept_ = 0;        // since then
    std::uint64_t a_while_ago_ = 0;   // resident, at the last look
    Instant looked_at_ = Instant{};   // when that was
    bool grows_ = false;              // between the last two looks
    Instant trim_again_ = Instant{};  // not before
    bool full_ = false;
    std::size_t kept_when_full_ = 0;
    std::uint64_t reusable_up_to_ = 0;  // resident, while there is free memory in what stays resident
};

}  // namespace holdfast
