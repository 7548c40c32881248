#include "codec/peer/field_writer.h"
#include "codec/peer/record_codec.h"

namespace holdfast::codec::peer {
namespace {

std::int64_t ns(Instant instant) {
    return instant.time_since_epoch().count();
}

/// Enumerations on the wire begin with a value that stands for none.
template <class Enumeration>
std::uint64_t to_wire(Enumeration value) {
    return static_cast<std::uint64_t>(value) + 1;
}

class Writer {
 public:
    explicit Writer(std::string& out) : to_(out) {}

    void write(const store::quorum::Prepare& prepare) {
        to_.nested(pb::Message::kPrepareFieldNumber, [&] {
            to_.text(pb::Prepare::kResourceFieldNumber, prepare.resource);
            write(pb::Prepare::kBallotFieldNumber, prepare.ballot);
        });
    }

    void write(const store::quorum::Accept& accept) {
        to_.nested(pb::Message::kAcceptFieldNumber, [&] {
            to_.text(pb::Accept::kResourceFieldNumber, accept.resource);
            write(pb::Accept::kBallotFieldNumber, accept.ballot);
            write(pb::Accept::kNextFieldNumber, accept.next);
            write(pb::Accept::kRecordFieldNumber, accept.record);
        });
    }

    void write(const store::quorum::Vote& vote) {
        to_.nested(pb::Message::kVoteFieldNumber, [&] {
            write(pb::Vote::kBallotFieldNumber, vote.ballot);
            to_.number(pb::Vote::kAcceptingFieldNumber, vote.accepting);
            to_.number(pb::Vote::kGrantedFieldNumber, vote.granted);
            write(pb::Vote::kPromisedFieldNumber, vote.promised);
            to_.number(pb::Vote::kHighestTokenFieldNumber, vote.highest_token);
            write(pb::Vote::kAcceptedFieldNumber, vote.accepted);
            if (!vote.record.record.empty() || vote.record.record.last_token != 0)
                write(pb::Vote::kRecordFieldNumber, vote.record);
        });
    }

    void write(const store::quorum::ReadRequest& look) {
        to_.nested(pb::Message::kLookFieldNumber, [&] {
            to_.number(pb::Look::kNumberFieldNumber, look.number);
            to_.number(pb::Look::kKindFieldNumber, to_wire(look.kind));
            to_.text(pb::Look::kNameFieldNumber, look.name);
            to_.number(pb::Look::kMostFieldNumber, look.most);
        });
    }

    void write(const store::quorum::ReadReply& seen) {
        to_.nested(pb::Message::kSeenFieldNumber, [&] {
            to_.number(pb::Seen::kNumberFieldNumber, seen.number);
            to_.number(pb::Seen::kCutFieldNumber, seen.cut);
            for (const store::quorum::ReadReply::Entry& entry : seen.entries)
                to_.nested(pb::Seen::kEntriesFieldNumber, [&] {
                    to_.text(pb::Seen::Entry::kResourceFieldNumber, entry.resource);
                    write(pb::Seen::Entry::kRecordFieldNumber, entry.record);
                });
        });
    }

 private:
    void write(int field, const store::quorum::Ballot& ballot) {
        if (ballot == store::quorum::Ballot{}) return;
        to_.nested(field, [&] {
            to_.number(pb::Ballot::kCounterFieldNumber, ballot.counter);
            to_.number(pb::Ballot::kBootFieldNumber, ballot.boot);
            to_.number(pb::Ballot::kNodeFieldNumber, ballot.node);
        });
    }

    void write(int field, const lease::Lease& lease) {
        to_.nested(field, [&] {
            to_.number(pb::Lease::kTokenFieldNumber, lease.token);
            to_.number(pb::Lease::kPredicateFieldNumber, to_wire(lease.predicate));
            to_.number(pb::Lease::kBarredFieldNumber, !lease.renewable);
            to_.number(pb::Lease::kResumableFieldNumber, lease.resumable);
            to_.number(pb::Lease::kTtlNsFieldNumber, static_cast<std::uint64_t>(lease.ttl.count()));
            to_.zigzag(pb::Lease::kAcquiredNsFieldNumber, ns(lease.acquired_at));
            to_.zigzag(pb::Lease::kExpiresNsFieldNumber, ns(lease.expires_at));
            to_.zigzag(pb::Lease::kHeldSinceNsFieldNumber, ns(lease.held_since));
            if (lease.priority) to_.always_zigzag(pb::Lease::kPriorityFieldNumber, *lease.priority);
            if (lease.progress)
                to_.nested(pb::Lease::kProgressFieldNumber, [&] {
                    to_.number(pb::Progress::kCountFieldNumber, lease.progress->count);
                    to_.zigzag(pb::Progress::kSinceNsFieldNumber, ns(lease.progress->since));
                });
            to_.text(pb::Lease::kHolderFieldNumber, lease.holder);
            to_.text(pb::Lease::kSessionFieldNumber, lease.session);
            to_.text(pb::Lease::kReasonFieldNumber, lease.reason);
            to_.text(pb::Lease::kMetadataFieldNumber, lease.metadata);
            to_.number(pb::Lease::kMeteredFieldNumber, lease.metered);
            to_.number(pb::Lease::kAcquiredWallMsFieldNumber, static_cast<std::uint64_t>(lease.acquired_wall_ms));
        });
    }

    void write(int field, const lease::EndedLease& ended) {
        to_.nested(field, [&] {
            to_.number(pb::EndedLease::kTokenFieldNumber, ended.token);
            to_.number(pb::EndedLease::kHowFieldNumber, to_wire(ended.how));
            to_.zigzag(pb::EndedLease::kAtNsFieldNumber, ns(ended.at));
        });
    }

    void write(int field, const lease::Waiter& waiter) {
        to_.nested(field, [&] {
            to_.number(pb::Waiter::kIdFieldNumber, waiter.id);
            to_.zigzag(pb::Waiter::kPriorityFieldNumber, waiter.priority);
            to_.number(pb::Waiter::kAgentFieldNumber, waiter.agent);
            to_.number(pb::Waiter::kPredicateFieldNumber, to_wire(waiter.predicate));
            to_.zigzag(pb::Waiter::kUntilNsFieldNumber, ns(waiter.until));
            to_.text(pb::Waiter::kHolderFieldNumber, waiter.holder);
            to_.text(pb::Waiter::kSessionFieldNumber, waiter.session);
        });
    }

    void write(int field, const lease::Reservation& reservation) {
        to_.nested(field, [&] {
            write(pb::Reservation::kLeaseFieldNumber, reservation.lease);
            to_.zigzag(pb::Reservation::kUntilNsFieldNumber, ns(reservation.until));
        });
    }

    void write(int field, const lease::PastHolding& past) {
        to_.nested(field, [&] {
            to_.text(pb::PastHolding::kHolderFieldNumber, past.holder);
            to_.zigzag(pb::PastHolding::kUntilNsFieldNumber, ns(past.until));
            to_.number(pb::PastHolding::kHeldNsFieldNumber, static_cast<std::uint64_t>(past.held.count()));
        });
    }

    void write(int field, const store::cas::RelativeRecord& travelling) {
        const lease::Record& record = travelling.record;
        to_.nested(field, [&] {
            write_all(pb::Record::kLeasesFieldNumber, record.leases);
            write_all(pb::Record::kEndedFieldNumber, record.ended);
            write_all(pb::Record::kWaitersFieldNumber, record.waiters);
            write_all(pb::Record::kReservedFieldNumber, record.reserved);
            to_.number(pb::Record::kLastTokenFieldNumber, record.last_token);
            write_all(pb::Record::kPastFieldNumber, record.past);
        });
    }

    template <class Entry>
    void write_all(int field, const std::vector<Entry>& entries) {
        for (const Entry& entry : entries)
            write(field, entry);
    }

    FieldWriter to_;
};

}  // namespace

void append_message(const store::quorum::QuorumMessage& message, std::string& out) {
    std::visit([&](const auto& one) { Writer(out).write(one); }, message);
}

}  // namespace holdfast::codec::peer
