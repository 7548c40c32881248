#include "codec/peer/message_codec.h"
#include "codec/peer/peer_messages.h"
#include "codec/record/record_codec.h"

namespace holdfast::codec::peer {
namespace {

// Readers leave `to` in any state if the check fails.

store::quorum::Ballot read(const pb::Ballot& from, Check& check) {
    check.that(from.counter() < ballot_limit, "a ballot is out of range");
    return store::quorum::Ballot{from.counter(), from.boot(), read_node(from.node(), check)};
}

void read(const saved::Record& from, store::cas::RelativeRecord& to, Check& check) {
    record::read_record(from, {.past = max_past, .future = max_future}, to.record, check);
}

void read_resource(const std::string& from, std::string& to, Check& check) {
    check.that(!from.empty(), "a name is empty");
    if (check.that(from.size() <= full_name_bytes, "a text is too long")) to = from;
}

store::quorum::Prepare get(const pb::Prepare& from, Check& check) {
    store::quorum::Prepare prepare;
    // The empty resource belongs to no register: with it a node that lost its memory announces where its ballots begin
    // (quorum_store.cpp).
    if (!from.resource().empty()) read_resource(from.resource(), prepare.resource, check);
    prepare.ballot = read(from.ballot(), check);
    return prepare;
}

store::quorum::Accept get(const pb::Accept& from, Check& check) {
    store::quorum::Accept accept;
    read_resource(from.resource(), accept.resource, check);
    accept.ballot = read(from.ballot(), check);
    accept.next = read(from.next(), check);
    read(from.record(), accept.record, check);
    return accept;
}

store::quorum::Vote get(const pb::Vote& from, Check& check) {
    store::quorum::Vote vote;
    vote.ballot = read(from.ballot(), check);
    vote.accepting = from.accepting();
    vote.granted = from.granted();
    vote.promised = read(from.promised(), check);
    check.that(from.highest_token() < lease::token_limit, "a token is out of range");
    vote.highest_token = from.highest_token();
    vote.accepted = read(from.accepted(), check);
    read(from.record(), vote.record, check);
    return vote;
}

store::quorum::ReadRequest get(const pb::Look& from, Check& check) {
    store::quorum::ReadRequest look;
    look.number = from.number();
    check.that(from.kind() >= pb::OVERLAPPING && from.kind() <= pb::OF_HOLDER_OR_RESERVED, "there is no such look");
    look.kind = static_cast<store::quorum::ReadRequest::Kind>(from.kind() - 1);
    read_resource(from.name(), look.name, check);
    check.that(from.most() <= max_seen, "a look asks for too much");
    look.most = from.most();
    return look;
}

store::quorum::ReadReply get(const pb::Seen& from, Check& check) {
    store::quorum::ReadReply seen;
    seen.number = from.number();
    seen.cut = from.cut();
    const auto count = static_cast<std::size_t>(from.entries_size());
    if (!check.that(count <= max_seen, "too much was seen")) return seen;
    seen.entries.reserve(count);
    for (const pb::Seen::Entry& entry : from.entries()) {
        store::quorum::ReadReply::Entry& added = seen.entries.emplace_back();
        read_resource(entry.resource(), added.resource, check);
        read(entry.record(), added.record, check);
        if (check.fails()) return seen;
    }
    return seen;
}

}  // namespace

store::quorum::NodeIndex read_node(std::uint32_t from, Check& check) {
    if (!check.that(from < max_members, "there is no such node")) return 0;
    return static_cast<store::quorum::NodeIndex>(from);
}

std::optional<store::quorum::QuorumMessage> read_quorum(const pb::Message& from, Check& check) {
    switch (from.kind_case()) {
        case pb::Message::kPrepare:
            return get(from.prepare(), check);
        case pb::Message::kAccept:
            return get(from.accept(), check);
        case pb::Message::kVote:
            return get(from.vote(), check);
        case pb::Message::kLook:
            return get(from.look(), check);
        case pb::Message::kSeen:
            return get(from.seen(), check);
        default:
            return std::nullopt;
    }
}

}  // namespace holdfast::codec::peer
