#pragma once

#include <vector>

#include "sim/dice.h"
#include "sim/event_queue.h"
#include "sim/scenario.h"

namespace holdfast::sim {

/// Carries messages between nodes, and between holders and nodes. It loses some, delays most a little and some for
/// seconds, duplicates some, and so reorders them (Q12). Messages under way survive a restart of a node.
class Network {
 public:
    using Place = unsigned;  ///< nodes first, then holders, then admins

    Network(EventQueue& events, const Scenario& scenario);

    Place place_of_node(unsigned node) const { return node; }
    Place place_of_holder(unsigned holder) const { return nodes_ + holder; }
    Place place_of_admin(unsigned admin) const { return nodes_ + holders_ + admin; }

    /// `deliver` is called later, or never, or, if doubles are allowed, more than once.
    enum class Doubles : std::uint8_t { never, sometimes };
    void carry(Place from, Place to, Doubles doubles, EventQueue::Action deliver);

    /// Cuts nest: a link that was cut twice needs two heals.
    void cut(Place from, Place to) { ++links_[index(from, to)].cuts; }
    void heal(Place from, Place to) { --links_[index(from, to)].cuts; }
    void begin_storm() { ++storms_; }
    void end_storm() { --storms_; }

    /// From now on nothing is lost and nothing is late.
    void calm_down() { calm_ = true; }

 private:
    struct Link {
        Dice dice;
        int cuts = 0;
    };
    std::size_t index(Place from, Place to) const { return from * places_ + to; }
    Duration delay(Dice& dice) const;

    EventQueue& events_;
    Place nodes_, holders_, places_;
    double late_;
    Duration max_late_;
    double doubled_;
    int storms_ = 0;
    bool calm_ = false;
    std::vector<Link> links_;
};

}  // namespace holdfast::sim
