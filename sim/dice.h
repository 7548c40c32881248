#pragma once

#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace holdfast::sim {

/// Chance in a world. Each holder, each link and each disk throws dice of its own, so that what one of them does more
/// or less does not change the luck of the others: that keeps a scenario alike when a part is taken out of it.
class Dice {
 public:
    explicit Dice(std::uint64_t seed) : random_(seed) { random_.next(); }

    bool chance(double probability) { return random_.unit() < probability; }
    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    std::uint64_t number() { return random_.next(); }

    /// In [least, most).
    Duration between(Duration least, Duration most) {
        return least +
               Duration{static_cast<Duration::rep>(random_.unit() * static_cast<double>((most - least).count()))};
    }

    template <class T>
    const T& one_of(const std::vector<T>& choices) {
        return choices[random_.below(choices.size())];
    }

    /// Dice for a part, named by any number.
    static std::uint64_t part(std::uint64_t seed, std::uint64_t which) {
        return Random{seed * 0x9e3779b97f4a7c15 + which}.next();
    }

 private:
    Random random_;
};

}  // namespace holdfast::sim
