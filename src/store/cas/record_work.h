#pragma once

#include <string>
#include <vector>

#include "store/cas/deciding.h"

namespace holdfast::core {

/// How far the work on a record has come.
enum class WorkPhase : std::uint8_t {
    idle,
    fetching,
    looking_before,  ///< at what overlaps, to decide
    swapping,
    recovering,     ///< asks whether a swap took effect that was not answered
    looking_after,  ///< the swap took effect; looks whether something that overlaps came at the same time
    taking_back,    ///< it did: swaps back
    pausing,        ///< lets others have their turn
};

/// A record that this front works on: there from its first update until nothing is left to do.
struct RecordWork {
    std::string resource;
    std::uint64_t serial = 0;
    bool may_overlap = false;
    std::vector<Pending> waiting;  ///< for the round after this one
    std::vector<Pending> batch;    ///< applied together, in this order
    bool tidy_next = false;        ///< the next round also writes down what time has ended
    bool tidy = false;             ///< this one does

    WorkPhase phase = WorkPhase::idle;
    std::uint64_t call = 0;  ///< the one whose answer is waited for
    Instant timer = Instant::max();
    Instant deadline = Instant::max();  ///< then the round is given up
    unsigned failures = 0;              ///< in a row
    std::string trouble;                ///< the engine's words for why a swap was not answered; empty: it said none
    bool first_try = true;

    StoredRecord base;
    bool shown = false;  ///< the base is what the engine showed for this batch; else a guess
    Instant asked_at;    ///< when what it showed was asked for
    Moment moment;       ///< of the decision
    Decision decision;
    StoredRecord result;

    std::vector<LostLease> lost;          ///< by swaps of this batch that were not answered
    std::vector<std::uint64_t> enqueued;  ///< likewise: they may be in the queue already
};

/// By time, then by age: never by address, so that a run can be replayed.
struct EarlierWork {
    bool operator()(const std::pair<Instant, RecordWork*>& a, const std::pair<Instant, RecordWork*>& b) const {
        return a.first != b.first ? a.first < b.first : a.second->serial < b.second->serial;
    }
};

}  // namespace holdfast::core
