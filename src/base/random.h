#pragma once

#include <cstdint>
#include <string>

namespace holdfast::inline base {

/// A small, fast, reproducible source of numbers for jitter and tests (splitmix64). Not for secrets.
/// The seed is an argument, so that a run can be replayed.
class Random {
 public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// A number in [0, bound). REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    /// A number in [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
    std::uint64_t state_;
};

/// 64 bits from the operating system. For the shell: seeds, hash keys, names that must be unique.
std::uint64_t random_seed();

/// `bytes` random bytes from the operating system, in hexadecimal.
std::string random_hex(std::size_t bytes);

}  // namespace holdfast::inline base
