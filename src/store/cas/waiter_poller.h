#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// The requests that wait through this node, in records that other nodes write too. The notification of their turn may
/// have been missed, so their records are also read about once a second.
class WaiterPoller {
 public:
    struct Parts {
        StoreListener& listener;
        /// Updates a record as Store::update() does; done() comes later, or not at all.
        std::function<void(std::string_view resource, Update& update)> update;
        HashKey hash_key;
        std::uint64_t seed = 0;
        bool at_changes = false;  ///< also reads a record when something in it ends
    };
    explicit WaiterPoller(Parts parts);
    ~WaiterPoller();

    void watch(std::string_view resource, const std::vector<std::uint64_t>& waiters, Instant now);
    /// Something has ended in this record: reads it at once if a request waits there, and likewise the overlapping
    /// ones.
    void read_now(std::string_view resource, Instant now);
    /// Reads the records that are due. True if there is more to do.
    bool advance(Instant now, std::size_t steps);
    Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first; }

 private:
    class Recheck;
    struct Found {
        std::vector<std::uint64_t> looked_for;  ///< ours at the time of the read
        std::vector<std::uint64_t> waiting;     ///< of those, in the queue
        std::vector<std::uint64_t> turn;        ///< of those, the ones to notify: due, or of an agent
        Instant next_change = Instant::max();
    };

    /// Either a read is scheduled, or one is under way.
    struct Watched {
        std::vector<std::uint64_t> waiters;
        std::unique_ptr<Recheck> recheck;
        Instant due = Instant::max();
        bool again = false;  ///< something has ended since the read began
    };
    using WatchedPlace = TextMap<Watched>::iterator;

    void schedule(WatchedPlace place, Instant now, Instant at_latest);
    void read_now(WatchedPlace place, Instant now);
    void on_found(const std::string& resource, const Found& found, Instant now);

    Parts parts_;
    Random random_;
    TextMap<Watched> watched_;
    std::set<std::string, std::less<>> files_;  ///< those of them that may overlap with others
    std::set<std::pair<Instant, std::string>> due_;
};

}  // namespace holdfast::store::cas
