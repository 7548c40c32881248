#pragma once

#include <string>
#include <vector>

#include "store/cas/deciding.h"

namespace holdfast::core {

/// How far the work on a record has come.
enum class WorkPhase : std::uint8_t {
    idle,
    fetching,
    looking_before,  ///< reads the overlapping records, to decide
    swapping,
    recovering,     ///< reads whether an unanswered swap took effect
    looking_after,  ///< the swap took effect; checks for a concurrent grant that overlaps
    taking_back,    ///< there was one: swaps back
    pausing,        ///< backing off
};

/// A record that this front works on. It exists from the first update until nothing is left to do.
struct RecordWork {
    std::string resource;
    std::uint64_t serial = 0;
    bool may_overlap = false;
    std::vector<Pending> waiting;  ///< for the round after this one
    std::vector<Pending> batch;    ///< applied together, in this order
    bool tidy_next = false;        ///< the next round also removes entries that have ended
    bool tidy = false;             ///< this round does

    WorkPhase phase = WorkPhase::idle;
    std::uint64_t call = 0;  ///< the call whose answer is awaited
    Instant timer = Instant::max();
    Instant deadline = Instant::max();  ///< then the round is given up
    unsigned failures = 0;              ///< in a row
    std::string trouble;                ///< the engine's reason for an unanswered swap; empty if none
    bool first_try = true;

    StoredRecord base;
    bool shown = false;  ///< the base was shown by the engine for this batch; else a guess
    Instant asked_at;    ///< when the shown base was requested
    Moment moment;       ///< of the decision
    Decision decision;
    StoredRecord result;

    std::vector<LostLease> lost;          ///< by unanswered swaps of this batch
    std::vector<std::uint64_t> enqueued;  ///< by unanswered swaps; may be in the queue already
};

/// Orders by time, then by age; never by address, so that a run can be replayed.
struct EarlierWork {
    bool operator()(const std::pair<Instant, RecordWork*>& a, const std::pair<Instant, RecordWork*>& b) const {
        return a.first != b.first ? a.first < b.first : a.second->serial < b.second->serial;
    }
};

}  // namespace holdfast::core
