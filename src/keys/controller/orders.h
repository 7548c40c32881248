#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "keys/controller/key.h"

namespace holdfast::keys::controller {

/// An order that a drone has not reported done.
struct QueuedOrder {
    Order order;  ///< a start without its deadlines, which are set when it is sent
    /// Of the key, for a start.
    Instant expires_at{};
    KeyTimeline timeline{};
    bool sent = false;  ///< at least once: the drone may have carried it out

    const SpawnOrder* start() const { return std::get_if<SpawnOrder>(&order.what); }
    const std::string& backend() const {
        return start() != nullptr ? start()->backend : std::get<TerminateOrder>(order.what).backend;
    }
};

/// The orders for one incarnation of a drone, oldest first. Each is resent until the drone reports it done or it has
/// become pointless.
class Orders {
 public:
    bool full() const;
    std::size_t size() const { return orders_.size(); }

    void start(std::uint64_t number, SpawnOrder start, const lease::Lease& key);
    /// At most one per backend; a hard one replaces a soft one.
    void terminate(std::uint64_t number, const std::string& backend, Severity how);

    void done(const std::vector<std::uint64_t>& numbers);
    /// Drops all orders about this backend.
    void forget(const std::string& backend);
    /// Drops starts whose key has expired.
    void drop_expired(Instant now);

    /// The pending order to start this backend; null if there is none.
    const QueuedOrder* start_of(const std::string& backend) const;

    /// The orders to send now, up to the limits of one answer. Marks them as sent.
    std::vector<QueuedOrder> take(Instant now);

    /// The backends whose start was never sent, and which therefore cannot be running.
    std::vector<std::string> unsent_starts() const;

 private:
    std::map<std::uint64_t, QueuedOrder> orders_;  // ascending numbers
};

}  // namespace holdfast::keys::controller
