#pragma once

#include <holdfast/outcome.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/code.h"
#include "base/random.h"
#include "base/time.h"
#include "lease/holder_deadlines.h"

namespace holdfast::client {

/// The result of one renewal.
struct RenewalGranted {
    lease::HolderDeadlines deadlines;
};
struct RenewalRejected {
    ErrorCode code;
};
struct RenewalUnanswered {};
using RenewalAnswer = std::variant<RenewalGranted, RenewalRejected, RenewalUnanswered>;

/// Decides when to renew each lease, and when a lease is lost. It reads no clock and sends nothing: its caller passes
/// the time, sends the renewals that take_due() returns, and passes the answers to answer().
///
/// If a renewal is rejected, the lease is lost at once. If it is not answered, the lease is uncertain, and the renewal
/// is retried with backoff until the deadline. If it is barred, it is not retried: the lease runs out (R7).
class Keeper {
 public:
    using Key = std::uint64_t;

    explicit Keeper(Random random) : random_(random) {}

    struct Kept {
        Key key = 0;
        lease::HolderDeadlines deadlines;
        bool renew = true;  ///< false: only its deadline is watched
    };
    /// REQUIRES: the key is not kept yet.
    void add(const Kept& lease, HolderInstant now);
    void remove(Key key);

    /// The leases to renew now. Their renewals count as in flight until answer() is called for each.
    std::vector<Key> take_due(HolderInstant now);

    /// Returns the state of the lease after the answer: granted, uncertain or lost. A lost lease is removed; for a
    /// lease that was removed before, the result is lost. An answer after the deadline is too late, whatever it says.
    Outcome answer(Key key, const RenewalAnswer& answer, HolderInstant now);

    /// Removes and returns the leases whose deadline has passed.
    std::vector<Key> take_ended(HolderInstant now);

    /// The end of a kept lease. REQUIRES: it is kept.
    HolderInstant end_of(Key key) const { return leases_.at(key).deadlines.end(); }

    /// When to call take_due() and take_ended() next; HolderInstant::max() if nothing is kept.
    HolderInstant next() const { return agenda_.empty() ? HolderInstant::max() : agenda_.begin()->first; }

    std::size_t size() const { return leases_.size(); }

 private:
    struct Entry {
        lease::HolderDeadlines deadlines;
        bool renew = true;
        bool under_way = false;
        unsigned failures = 0;
        HolderInstant wake_at{};  ///< its place in the agenda
    };

    void schedule(Key key, Entry& entry);
    void forget(Key key, const Entry& entry);
    void spread(Entry& entry, HolderInstant now);
    HolderInstant next_try(const Entry& entry, HolderInstant now);

    Random random_;
    std::map<Key, Entry> leases_;
    std::set<std::pair<HolderInstant, Key>> agenda_;
};

/// True if a rejection with this code means that the lease has ended or was never the holder's.
bool means_lost(const ErrorCode& code);

}  // namespace holdfast::client
