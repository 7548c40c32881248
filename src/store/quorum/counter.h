#pragma once

#include <algorithm>
#include <cstdint>

#include "base/mutant.h"
#include "store/quorum/acceptor.h"

namespace holdfast::core {

/// Numbers this node's attempts (Q2). It keeps up with what it hears of the others, so that they seldom refuse each
/// other; but it goes above the durable ceiling of this node's acceptor, and so perhaps of others, only when it has to.
class Counter {
 public:
    Counter(const QuorumConfig& config, Acceptor& acceptor, std::uint64_t from)
        : config_(config), acceptor_(acceptor), last_(mutant("ballots_reused") ? 0 : from), heard_(last_) {}

    Ballot next() {
        if (heard_ > last_ && acceptor_.admits_counter(heard_ + margin)) last_ = heard_;
        return {++last_, mutant("ballots_reused") ? 0 : config_.boot, config_.node};
    }

    void heard(Ballot ballot) {
        if (ballot.counter <= heard_ || ballot.counter > highest || mutant("ballots_reused")) return;
        heard_ = ballot.counter;
        acceptor_.expect_counter(heard_);
    }

    /// This ballot was in the way: the next one must be above it. By how much: whoever uses it goes on meanwhile, and
    /// would be ahead again.
    void go_above(Ballot ballot, std::uint64_t by) {
        if (ballot.counter <= highest - by) last_ = std::max(last_, ballot.counter + by);
    }

 private:
    static constexpr std::uint64_t margin = 1 << 16;
    static constexpr std::uint64_t highest = token_limit;  ///< as high as a ceiling can be

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    std::uint64_t last_;
    std::uint64_t heard_;
};

}  // namespace holdfast::core
