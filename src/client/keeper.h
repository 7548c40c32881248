#pragma once

#include <holdfast/outcome.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "client/deadlines.h"

namespace holdfast {

/// What came of one renewal.
struct RenewalGranted {
    Deadlines deadlines;  ///< counted from when the renewal was sent (T3)
};
struct RenewalRejected {
    std::string code;
};
struct RenewalUnanswered {};
using RenewalAnswer = std::variant<RenewalGranted, RenewalRejected, RenewalUnanswered>;

/// Decides when to renew what, and when a lease is lost. It reads no clock and sends nothing: whoever drives it says
/// what time it is, sends what take_due() returns and brings the answers back.
///
/// A renewal that was rejected loses the lease at once. One that was not answered makes it uncertain and is repeated,
/// with backoff, until the deadline. One that is barred is not repeated: the lease runs out (R7).
class Keeper {
 public:
    using Key = std::uint64_t;

    explicit Keeper(Random random) : random_(random) {}

    struct Kept {
        Key key = 0;
        Deadlines deadlines;
        bool renew = true;  ///< false: only its end is watched
    };
    /// REQUIRES: the key is not kept yet.
    void add(const Kept& lease, HolderInstant now);
    void remove(Key key);

    /// The leases to renew now. They count as under way until answer() is called for each.
    std::vector<Key> take_due(HolderInstant now);

    /// What the answer makes of the lease: granted, uncertain or lost. A lost one is kept no more; one that is not kept
    /// any more stays lost. An answer past the deadline comes too late, whatever it says.
    Outcome answer(Key key, const RenewalAnswer& answer, HolderInstant now);

    /// The leases whose deadline has passed. They are kept no more.
    std::vector<Key> take_ended(HolderInstant now);

    /// The end of a kept lease. REQUIRES: it is kept.
    HolderInstant end_of(Key key) const { return leases_.at(key).deadlines.end; }

    /// When to call take_due() and take_ended() next; HolderInstant::max() if nothing is kept.
    HolderInstant next() const { return agenda_.empty() ? HolderInstant::max() : agenda_.begin()->first; }

    std::size_t size() const { return leases_.size(); }

 private:
    struct Entry {
        Deadlines deadlines;
        bool renew = true;
        bool under_way = false;
        unsigned failures = 0;
        HolderInstant renew_at{};
        HolderInstant wake_at{};  ///< its place in the agenda
    };

    void schedule(Key key, Entry& entry);
    void forget(Key key, const Entry& entry);
    HolderInstant first_try(const Deadlines& deadlines, HolderInstant now);
    HolderInstant next_try(const Entry& entry, HolderInstant now);

    Random random_;
    std::map<Key, Entry> leases_;
    std::set<std::pair<HolderInstant, Key>> agenda_;
};

/// True if a rejection with this code means that the lease has ended or was never the holder's.
bool means_lost(std::string_view code);

}  // namespace holdfast
