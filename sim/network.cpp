#include "sim/network.h"

#include <algorithm>

namespace holdfast::sim {

Network::Network(EventQueue& events, const Scenario& scenario)
    : events_(events),
      nodes_(scenario.nodes),
      holders_(scenario.holders),
      places_(scenario.nodes + scenario.holders + scenario.admins),
      late_(scenario.late),
      max_late_(scenario.max_late),
      doubled_(scenario.doubled) {
    // The random choices of a link do not depend on the number of other links.
    const auto key = [&](Place place) {
        if (place < nodes_) return place;
        return place < nodes_ + holders_ ? 64 + place - nodes_ : 32 + place - nodes_ - holders_;
    };
    for (Place from = 0; from < places_; ++from)
        for (Place to = 0; to < places_; ++to)
            links_.push_back({Dice{Dice::part(scenario.seed, 100'000 + 1000ULL * key(from) + key(to))}, 0});
}

Duration Network::delay(Dice& dice) const {
    if (calm_) return dice.between(100us, 2ms);
    if (dice.chance(storms_ > 0 ? 10 * late_ : late_)) return dice.between(200ms, max_late_);
    if (dice.chance(storms_ > 0 ? 0.3 : 0.02)) return dice.between(5ms, 800ms);
    return dice.between(100us, 5ms);
}

void Network::carry(Place from, Place to, Doubles doubles, EventQueue::Action deliver) {
    Link& link = links_[index(from, to)];
    if (link.cuts > 0 && !calm_) return;
    if (!calm_ && link.dice.chance(storms_ > 0 ? 0.2 : 0.01)) return;
    if (!calm_ && doubles == Doubles::sometimes && link.dice.chance(storms_ > 0 ? std::max(0.2, doubled_) : doubled_))
        events_.after(delay(link.dice), deliver);
    events_.after(delay(link.dice), std::move(deliver));
}

}  // namespace holdfast::sim
