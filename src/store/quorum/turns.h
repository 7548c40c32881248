#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/quorum/attempts.h"
#include "store/quorum/text_map.h"

namespace holdfast::core {

/// The requests that wait through this node. Their turns are told of by this node's own acceptor; but that may have
/// missed what a majority accepted, so the records in which they wait are read about once a second besides.
class Turns {
 public:
    Turns(StoreListener& listener, Attempts& attempts, HashKey hash_key, std::uint64_t seed);
    ~Turns();

    void watch(std::string_view resource, const std::vector<std::uint64_t>& waiters, Instant now);
    /// Reads the records whose time has come. True if there is more to do.
    bool advance(Instant now, std::size_t steps);
    Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first; }

 private:
    class Recheck;
    struct Found {
        std::vector<std::uint64_t> looked_for;  ///< ours, when it was looked
        std::vector<std::uint64_t> waiting;     ///< of those, in the queue
        std::vector<std::uint64_t> turn;        ///< of those, whose turn it may be
    };

    struct Watched {
        std::vector<std::uint64_t> waiters;
        std::unique_ptr<Recheck> recheck;  ///< under way, or nothing
    };

    void schedule(const std::string& resource, Instant now);
    void on_found(const std::string& resource, const Found& found, Instant now);

    StoreListener& listener_;
    Attempts& attempts_;
    Random random_;
    TextMap<Watched> watched_;
    std::multimap<Instant, std::string> due_;
};

}  // namespace holdfast::core
