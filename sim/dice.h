#pragma once

#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace holdfast::sim {

/// Randomness in a world. Each holder, link and disk has a generator of its own, so the actions of one do not change
/// the random choices of the others. This keeps a scenario similar when a part is removed.
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

    /// The seed of a part, identified by any number.
    static std::uint64_t part(std::uint64_t seed, std::uint64_t which) {
        return Random{seed * 0x9e3779b97f4a7c15 + which}.next();
    }

 private:
    Random random_;
};

}  // namespace holdfast::sim
