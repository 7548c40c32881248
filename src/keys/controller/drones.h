#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "keys/controller/orders.h"

namespace holdfast::keys::controller {

/// A machine that runs backends, as known from its heartbeats.
struct Drone {
    std::string id;
    std::string life;
    std::deque<std::string> earlier_lives{};  ///< incarnations that are over; their messages are stale
    std::string pool{};
    std::string address{};
    std::size_t capacity = 0;
    bool draining = false;  ///< the drone reports that it is draining
    bool drain = false;     ///< it is ordered to drain
    Instant heard_at{};
    std::uint64_t reported_at_ms = 0;  ///< on the drone's clock; reports from before this are out of order
    bool silence_noted = false;
    bool lateness_noted = false;
    std::uint64_t connection = 0;  ///< the one on which it last asked for orders
    bool hung_up = false;          ///< that connection has ended, and no word since: it may be dead
    Orders orders{};
    std::size_t taking = 0;  ///< acquires under way for keys of this drone

    bool healthy(Instant now) const;
    /// The drone has missed its heartbeat interval, so its last report may be outdated.
    bool late(Instant now) const;
    bool had_life(const std::string& other) const;
    void had_lives(const std::vector<std::string>& lives);
    void begin_life(const std::string& next);

    /// Records the drone's clock, received just now. A value lower than an earlier one was sent before it and is
    /// ignored.
    void hear_clock(std::uint64_t clock_ms, Instant now);
    /// The drone's clock at an instant of ours: the latest value received from it, plus the time since then by our
    /// clock (K3). The drone read its clock before it sent the value, so the result is never ahead of the drone's
    /// clock.
    std::int64_t clock_ms_at(Instant instant) const;

 private:
    std::uint64_t clock_ms_ = 0;
    Instant clock_heard_at_{};
};

class Drones {
 public:
    Drone* find(const std::string& id);
    const Drone* find(const std::string& id) const;
    bool full() const;
    /// REQUIRES: not full, and no drone has this id.
    Drone& add(std::string id, std::string life);
    void remove(const std::string& id) { all_.erase(id); }
    std::map<std::string, Drone>& all() { return all_; }
    const std::map<std::string, Drone>& all() const { return all_; }

    /// Chooses among the pool's drones that are healthy, have not hung up, are not draining and have room. Prefers
    /// those heard from in the last 10 s, then those with the fewest backends, then the highest rendezvous weight for
    /// the key. Null if no drone qualifies.
    using Load = std::function<std::size_t(const Drone&)>;
    Drone* choose(std::string_view pool, std::string_view resource, const Load& load, Instant now);

 private:
    std::map<std::string, Drone> all_;
};

}  // namespace holdfast::keys::controller
