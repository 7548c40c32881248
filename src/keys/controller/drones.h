#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "keys/controller/orders.h"

namespace holdfast::core {

/// A machine that runs backends, as the controller knows it from its heartbeats.
struct Drone {
    std::string id;
    std::string life;
    std::deque<std::string> earlier_lives{};  ///< whose words come late, if they come
    std::string pool{};
    std::string address{};
    std::size_t capacity = 0;
    bool draining = false;  ///< it says so
    bool drain = false;     ///< it was told so
    Instant heard_at{};
    std::uint64_t reported_at_ms = 0;  ///< by its own clock: a report from before that comes late
    bool silence_noted = false;
    bool lateness_noted = false;
    std::uint64_t connection = 0;  ///< on which it last asked for orders
    bool hung_up = false;          ///< that one has ended, and it has not been heard since: it may be dead
    Orders orders{};
    std::size_t taking = 0;  ///< keys that are being taken for it

    bool healthy(Instant now) const;
    /// Not heard from as soon as it should be: what it said last need not be so any more.
    bool late(Instant now) const;
    bool had_life(const std::string& other) const;
    void had_lives(const std::vector<std::string>& lives);
    void begin_life(const std::string& next);

    /// Takes note of the drone's own time, which came just now. One that is behind an earlier one was sent before it.
    void hear_clock(std::uint64_t clock_ms, Instant now);
    /// What the drone's clock shows at an instant of ours: the latest time heard from it, and what has passed since by
    /// our clock (K3). It read that time before it sent it, so this is never more than it shows.
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
    /// REQUIRES: not full, and there is none with this id.
    Drone& add(std::string id, std::string life);
    void remove(const std::string& id) { all_.erase(id); }
    std::map<std::string, Drone>& all() { return all_; }
    const std::map<std::string, Drone>& all() const { return all_; }

    /// Of the pool's drones that are healthy, have not hung up, are not draining and have room: first those heard from
    /// in the last 10 s, then those with the fewest backends, then the one that the key prefers. Nothing if there is
    /// none.
    using Load = std::function<std::size_t(const Drone&)>;
    Drone* choose(std::string_view pool, std::string_view resource, const Load& load, Instant now);

 private:
    std::map<std::string, Drone> all_;
};

}  // namespace holdfast::core
