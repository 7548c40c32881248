#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lease/lease.h"
#include "store/cas/relative_record.h"
#include "store/quorum/ballot.h"

namespace holdfast::core {

/// What the nodes of a quorum say to each other about leases. They may be lost, delayed, doubled, reordered and
/// delivered after a restart (Q12).

/// Asks an acceptor to take part in nothing older than this ballot, and for what it has.
struct Prepare {
    std::string resource;
    Ballot ballot;

    bool operator==(const Prepare&) const = default;
};

/// The answer to Prepare and to Accept.
struct Vote {
    Ballot ballot;           ///< of the attempt that is answered
    bool accepting = false;  ///< it answers an Accept
    bool granted = false;
    Ballot promised;          ///< if not granted: the ballot that is in the way
    Token highest_token = 0;  ///< of all that this acceptor has accepted, in any record, in this life or before (Q11)

    // Of a promise:
    Ballot accepted;  ///< the ballot of `record`; zero if it has accepted nothing it remembers
    RelativeRecord record;

    bool operator==(const Vote&) const = default;
};

/// Asks an acceptor to keep this record.
struct Accept {
    std::string resource;
    Ballot ballot;
    Ballot next;  ///< promised along with it, so that the same node's next attempt needs no Prepare
    RelativeRecord record;

    bool operator==(const Accept&) const = default;
};

/// Asks what an acceptor holds, without taking part in anything.
struct Look {
    enum class Kind : std::uint8_t { overlapping, of_holder, of_holder_or_reserved };
    std::uint64_t number = 0;  ///< of this look, among those of the asking node's life
    Kind kind = Kind::overlapping;
    std::string name;  ///< the resource, or the holder
    std::uint32_t most = 0;

    bool operator==(const Look&) const = default;
};
struct Seen {
    struct Entry {
        std::string resource;
        RelativeRecord record;

        bool operator==(const Entry&) const = default;
    };
    std::uint64_t number = 0;
    bool cut = false;  ///< there are more than were asked for
    std::vector<Entry> entries;

    bool operator==(const Seen&) const = default;
};

using QuorumMessage = std::variant<Prepare, Accept, Vote, Look, Seen>;

/// From one life of a node to one life of another. Who has started again since does not hear what was meant for its
/// former life: a promise that it has forgotten must not be taken for one that it gave (Q10, Q12).
struct Envelope {
    NodeIndex from = 0;
    NodeIndex to = 0;
    BootNumber from_boot = 0;
    BootNumber to_boot = 0;
    QuorumMessage message;
};

}  // namespace holdfast::core
