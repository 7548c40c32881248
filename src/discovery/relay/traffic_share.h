#pragma once

#include <atomic>
#include <cstdint>
#include <list>

#include "discovery/relay/token_bucket.h"

namespace holdfast::relay {

class Stream;

/// What the streams of one service, or of one identity, have in common: what they have carried, and how much more they
/// may now.
struct TrafficShare {
    explicit TrafficShare(std::uint64_t bytes_per_second) : bucket(bytes_per_second) {}

    // Counted by the pump, read by anyone.
    std::atomic<std::uint64_t> to_publisher = 0;
    std::atomic<std::uint64_t> to_consumer = 0;

    // The pump's alone.
    TokenBucket bucket;
    std::list<Stream*> paused;  ///< until there is something in the bucket again, longest first
    bool is_thirsty = false;    ///< in the pump's list of those with paused streams
};

}  // namespace holdfast::relay
