#pragma once

#include <string>
#include <vector>

#include "store/cas/pending.h"
#include "store/quorum/messages.h"
#include "store/quorum/node_set.h"

namespace holdfast::core {

/// How far an attempt has come.
enum class Phase : std::uint8_t {
    idle,
    preparing,       ///< waits for promises
    looking_before,  ///< has a majority's promises; looks at what overlaps
    accepting,       ///< waits for a majority to accept
    looking_after,   ///< a majority has accepted; looks whether something that overlaps came at the same time
    pausing,         ///< lets others have their turn
};

/// One attempt at one register, as data.
struct Attempt {
    std::uint64_t number = 0;  ///< among those of this life, for answers to looks
    Ballot ballot;
    Ballot next;
    Instant begun;
    Instant deadline;  ///< Q3: from when its first message was sent
    bool one_round = false;
    bool taking_back = false;

    NodeSet granted;
    NodeSet refused;
    Ballot outbid_by;  ///< the highest that those who refused had promised to another
    std::size_t replies = 0;

    // From the promises:
    Ballot newest;
    TravellingRecord record;
    bool agreed = true;  ///< all that promised have accepted the same
    Token highest_token = 0;

    // From what the updates made of it:
    Record result;  ///< as accepted, in this node's instants; only of what may overlap with others
    std::vector<Token> added;
    std::vector<Lease> extended;  ///< as they were
    std::vector<std::uint64_t> enqueued;
};

/// A register that this node works on: there from its first update until nothing is left to do.
struct Register {
    std::string resource;
    std::uint64_t serial = 0;
    bool may_overlap = false;
    std::vector<Pending> waiting;  ///< for the attempt after this one
    std::vector<Pending> batch;    ///< applied together, in this order
    Phase phase = Phase::idle;
    Attempt attempt;
    Instant timer = Instant::max();
    unsigned failures = 0;  ///< in a row
    /// Tokens of attempts that got no majority in time: leases with them may be found, and nobody was told of them
    /// (Q8).
    std::vector<Token> abandoned;
    std::vector<std::uint64_t> enqueued;  ///< by such attempts: they may be found in the queue as well
};

/// By time, then by age: never by address, so that a run can be replayed.
struct EarlierRegister {
    bool operator()(const std::pair<Instant, Register*>& a, const std::pair<Instant, Register*>& b) const {
        return a.first != b.first ? a.first < b.first : a.second->serial < b.second->serial;
    }
};

}  // namespace holdfast::core
