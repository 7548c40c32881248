#pragma once

#include <span>
#include <string_view>

#include "lease/record.h"

namespace holdfast::store::memory {

/// A compact form of a record and its resource name, for a record with at most one lease, no reservations, no past
/// holdings and a short queue. It never leaves the process, so the format may change freely. Times are exact, except
/// that acquired_at, and held_since if it is the same, is rounded down to the millisecond: a quota may end a
/// millisecond early (R6), a lease never.
///
/// bytes 0-1 room | 2 flags | [count of ended] | resource | [lease: expires_at, token, ttl, acquired_at, holder, …] |
/// [ended …] | [count of waiters, waiters …]
/// Text is preceded by its length; session, reason and metadata are present only if their flag is set. Rare fields
/// (priority, progress, an earlier held_since, metered, resumable, acquired_wall_ms) come last, after a second byte of
/// flags, if the predicate in the first is `extended`.
class PackedRecord {
 public:
    /// Limits the queue, because any change of a packed record costs in proportion to it.
    static constexpr std::size_t max_waiters = 5;

    static bool can_pack(const lease::Record& record) {
        return record.leases.size() <= 1 && record.reserved.empty() && record.past.empty() &&
               (record.waiters.empty() || can_pack_queue(record));
    }

    /// The size of the packed form in bytes. REQUIRES: can_pack(record).
    static std::size_t size_of(std::string_view resource, const lease::Record& record);
    /// Writes the packed form into `out`, which may be larger than needed. `resource` may point into an older form in
    /// `out`. REQUIRES: can_pack(record), and the packed form fits.
    static void pack(std::string_view resource, const lease::Record& record, std::span<char> out);

    /// REQUIRES: the bytes were written by pack() and outlive this object.
    explicit PackedRecord(const char* bytes) : bytes_(bytes) {}

    /// The size of the buffer it was written into.
    std::size_t room() const;
    std::string_view resource() const;
    bool has_lease() const;
    /// The holder of the lease. REQUIRES: has_lease().
    std::string_view holder() const;

    /// Writes the record into `out`, reusing its memory.
    void unpack(lease::Record& out) const;

 private:
    static bool can_pack_queue(const lease::Record& record);

    const char* bytes_;
};

}  // namespace holdfast::store::memory
