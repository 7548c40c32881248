#pragma once

#include <span>
#include <string_view>

#include "lease/record.h"

namespace holdfast::core {

/// A record of at most one lease, with nothing that is reserved or counts against a quota, and a queue of few if any,
/// with the name of its resource, in as few bytes as possible. Never leaves the process, so its form may change at
/// will. Times are kept exact, but for acquired_at, which is rounded down to the millisecond, and held_since where it
/// is the same: a quota may end a millisecond early (R6), a lease never.
///
/// bytes 0-1 room | 2 flags | [count of ended] | resource | [lease: expires_at, token, ttl, acquired_at, holder, …] |
/// [ended …] | [count of waiters, waiters …]
/// Text is preceded by its length; session, reason and metadata are there only if their flag is set. What few leases
/// have (a priority, progress, a holding that began earlier, a quota, an agent that restarts, a date) comes last, after
/// a second byte of flags, if the predicate in the first says so.
class PackedRecord {
 public:
    /// Any change of a record that is packed costs in proportion to its queue.
    static constexpr std::size_t max_waiters = 5;

    static bool can_pack(const Record& record) {
        return record.leases.size() <= 1 && record.reserved.empty() && record.past.empty() &&
               (record.waiters.empty() || can_pack_queue(record));
    }

    /// How many bytes the packed form takes. REQUIRES: can_pack(record).
    static std::size_t size_of(std::string_view resource, const Record& record);
    /// Writes the packed form into `out`, which may be larger, and over an older form from which `resource` is read.
    /// REQUIRES: can_pack(record), and it fits.
    static void pack(std::string_view resource, const Record& record, std::span<char> out);

    /// REQUIRES: the bytes were written by pack() and stay as long as this is used.
    explicit PackedRecord(const char* bytes) : bytes_(bytes) {}

    /// How large the memory is that it was written into.
    std::size_t room() const;
    std::string_view resource() const;
    bool has_lease() const;
    /// The holder of the lease. REQUIRES: has_lease().
    std::string_view holder() const;

    /// Writes the record into `out`, reusing the memory it holds.
    void unpack(Record& out) const;

 private:
    static bool can_pack_queue(const Record& record);

    const char* bytes_;
};

}  // namespace holdfast::core
