#include "codec/field_writer.h"
#include "codec/peer/message_codec.h"
#include "codec/record/record_codec.h"

namespace holdfast::codec::peer {
namespace {

/// Enumerations on the wire begin with a value that stands for none.
template <class Enumeration>
std::uint64_t to_wire(Enumeration value) {
    return static_cast<std::uint64_t>(value) + 1;
}

class Writer {
 public:
    explicit Writer(std::string& out) : out_(out), to_(out) {}

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

    void write(int field, const store::cas::RelativeRecord& relative) {
        to_.nested(field, [&] { record::append_record(relative.record, out_); });
    }

    std::string& out_;
    FieldWriter to_;
};

}  // namespace

void append_message(const store::quorum::QuorumMessage& message, std::string& out) {
    std::visit([&](const auto& one) { Writer(out).write(one); }, message);
}

}  // namespace holdfast::codec::peer
