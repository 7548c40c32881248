#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lease/lease.h"
#include "store/cas/relative_record.h"
#include "store/quorum/ballot.h"

namespace holdfast::store::quorum {

/// The messages about leases between the nodes of a quorum. They may be lost, delayed, duplicated, reordered and
/// delivered after a restart (Q12).

/// Asks an acceptor to take part in nothing older than this ballot, and for its record.
struct Prepare {
    std::string resource;
    Ballot ballot;

    bool operator==(const Prepare&) const = default;
};

/// The answer to Prepare and to Accept.
struct Vote {
    Ballot ballot;           ///< of the attempt
    bool accepting = false;  ///< answers an Accept
    bool granted = false;
    Ballot promised;  ///< if not granted: the ballot that caused the refusal
    lease::Token highest_token =
        0;  ///< the highest that this acceptor has accepted, in any record and any incarnation (Q11)

    // Of a promise:
    Ballot accepted;  ///< the ballot of `record`; zero if the acceptor remembers none
    cas::RelativeRecord record;

    bool operator==(const Vote&) const = default;
};

/// Asks an acceptor to keep this record.
struct Accept {
    std::string resource;
    Ballot ballot;
    Ballot next;  ///< promised along with it, so that the same node's next attempt needs no Prepare
    cas::RelativeRecord record;

    bool operator==(const Accept&) const = default;
};

/// Reads an acceptor's records without taking part in anything.
struct ReadRequest {
    enum class Kind : std::uint8_t { overlapping, of_holder, of_holder_or_reserved };
    std::uint64_t number = 0;  ///< of this read; unique in the incarnation of the asking node
    Kind kind = Kind::overlapping;
    std::string name;  ///< the resource, or the holder
    std::uint32_t most = 0;

    bool operator==(const ReadRequest&) const = default;
};
struct ReadReply {
    struct Entry {
        std::string resource;
        cas::RelativeRecord record;

        bool operator==(const Entry&) const = default;
    };
    std::uint64_t number = 0;
    bool cut = false;  ///< more exist than were asked for
    std::vector<Entry> entries;

    bool operator==(const ReadReply&) const = default;
};

using QuorumMessage = std::variant<Prepare, Accept, Vote, ReadRequest, ReadReply>;

/// From one incarnation of a node to one incarnation of another. A node that has restarted since drops messages for its
/// former incarnation: a promise that it has forgotten must not count as given (Q10, Q12).
struct Envelope {
    NodeIndex from = 0;
    NodeIndex to = 0;
    BootNumber from_boot = 0;
    BootNumber to_boot = 0;
    QuorumMessage message;
};

}  // namespace holdfast::store::quorum
