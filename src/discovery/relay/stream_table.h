#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "discovery/relay/token_bucket.h"

namespace holdfast::discovery::relay {

struct StreamLimits {
    std::size_t max_streams = 10'000;
    std::size_t per_service = 1'000;
    std::size_t per_identity = 4'000;
    std::size_t offers_per_publisher = 64;  ///< pending ones
    Duration ticket_life = 10s;
    std::uint64_t rate_per_service = 0;  ///< bytes per second, both directions together; zero: no limit
    std::uint64_t rate_per_identity = 0;
};

/// A consumer's request for a stream.
struct StreamWish {
    std::uint64_t consumer = 0;   ///< the consumer's connection
    std::uint64_t publisher = 0;  ///< the publisher's control connection
    std::string service{};
    std::string identity{};
};

/// The relay's streams: the pending offers with their tickets, the number of streams per service and identity, and
/// their traffic. Pure: time and tickets are arguments.
///
/// An offer is pending from offer() until it is redeemed, refused, expired or given up. A stream is open from redeem()
/// until ended(). Both count towards the limits.
class StreamTable {
 public:
    using Time = std::chrono::steady_clock::time_point;

    explicit StreamTable(StreamLimits limits) : limits_(limits) {}

    /// False if a limit is reached. REQUIRES: the consumer has no pending offer, and the ticket is new.
    [[nodiscard]] bool offer(StreamWish wish, const std::string& ticket, Time now);

    struct Opened {
        std::uint64_t stream = 0;
        std::uint64_t consumer = 0;
        std::shared_ptr<TrafficShare> service{};
        std::shared_ptr<TrafficShare> identity{};
    };
    /// A ticket is valid once, until it expires; nullopt if it is not valid.
    std::optional<Opened> redeem(std::string_view ticket, Time now);
    /// The consumer to notify, and the service; nullopt if this publisher has no such offer.
    struct RefusedOffer {
        std::uint64_t consumer = 0;
        std::string service;
    };
    std::optional<RefusedOffer> refuse(std::string_view ticket, std::uint64_t publisher);
    /// The consumer is gone.
    void give_up(std::uint64_t consumer);
    /// The publisher is gone: returns the consumers to notify. Its open streams continue.
    std::vector<std::uint64_t> publisher_gone(std::uint64_t publisher);
    /// Returns the consumers whose publisher did not answer in time, at most `most`. Also forgets services that have
    /// been without streams for a while.
    std::vector<std::uint64_t> advance(Time now, std::size_t most);
    void ended(std::uint64_t stream);

    struct Counts {
        std::size_t waiting = 0;
        std::size_t open = 0;
        std::uint64_t total = 0;
        std::uint64_t refused_by_limit = 0;
        std::uint64_t unanswered = 0;
    };
    Counts counts() const;

    struct Carried {
        std::uint64_t to_publisher = 0;
        std::uint64_t to_consumer = 0;
    };
    /// Totals of all streams, including ended ones.
    Carried carried() const;
    struct ServiceTraffic {
        std::size_t streams = 0;
        std::uint64_t total = 0;
        Carried carried{};
    };
    /// Visits the services that have streams, or had some in the last minute.
    using Visitor = std::function<void(const std::string& service, const ServiceTraffic& traffic)>;
    void for_each_service(const Visitor& visit) const;

 private:
    /// The streams and offers of one service or one identity.
    struct Party {
        std::shared_ptr<TrafficShare> share;
        std::size_t streams = 0;
        std::uint64_t total = 0;
        Time idle_since{};
    };
    using Parties = std::unordered_map<std::string, Party>;
    struct Offer {
        std::string ticket;
        StreamWish wish;
        Time expires_at;
    };
    using Offers = std::list<Offer>;

    bool has_room(const StreamWish& wish) const;
    void count(const StreamWish& wish);
    void discount(const StreamWish& wish);
    Offers::iterator find(std::string_view ticket);
    StreamWish take_out(Offers::iterator offer);
    void forget_idle(Time now);

    StreamLimits limits_;
    Parties services_, identities_;
    Offers offers_;  // in order of expiry
    std::unordered_map<std::string, Offers::iterator> by_ticket_;
    std::unordered_map<std::uint64_t, Offers::iterator> by_consumer_;
    std::unordered_map<std::uint64_t, std::map<std::uint64_t, Offers::iterator>> by_publisher_;  // then by consumer
    std::unordered_map<std::uint64_t, StreamWish> open_;
    std::uint64_t next_stream_ = 1;
    std::uint64_t refused_by_limit_ = 0, unanswered_ = 0;
    Carried forgotten_;
    Time now_{}, forget_at_{};
};

}  // namespace holdfast::discovery::relay
