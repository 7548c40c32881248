#include "codec/peer/record_codec.h"

#include "codec/peer/peer_messages.h"

namespace holdfast::codec::peer {
namespace {

namespace limits = lease::limits;

Instant instant(std::int64_t ns, Check& check) {
    check.that(ns <= max_future.count() && ns >= -max_past.count(), "a time is too far away");
    return Instant(Duration(ns));
}

lease::Token token(std::uint64_t from, Check& check) {
    check.that(from > 0 && from < lease::token_limit, "a token is out of range");
    return from;
}

void text(const std::string& from, std::string& to, std::size_t most, Check& check) {
    if (check.that(from.size() <= most, "a text is too long")) to = from;
}

void name(const std::string& from, std::string& to, std::size_t most, Check& check) {
    check.that(!from.empty(), "a name is empty");
    text(from, to, most, check);
}

// Enumerations on the wire begin with a value that stands for none.

lease::Predicate predicate(pb::Predicate from, Check& check) {
    if (!check.that(from >= pb::PROVIDES && from <= pb::RENAMES, "there is no such predicate")) return {};
    return static_cast<lease::Predicate>(from - 1);
}

lease::Ending ending(pb::Ending from, Check& check) {
    if (!check.that(from >= pb::RELEASED && from <= pb::REVOKED, "a lease cannot end like this")) return {};
    return static_cast<lease::Ending>(from - 1);
}

void read(const pb::Lease& from, lease::Lease& to, Check& check) {
    to.token = token(from.token(), check);
    to.predicate = predicate(from.predicate(), check);
    to.renewable = !from.barred();
    to.resumable = from.resumable();
    to.metered = from.metered();
    check.that(from.ttl_ns() >= 0 && from.ttl_ns() <= lease::limits::ttl_ceiling.count(), "a TTL is out of range");
    to.ttl = Duration(from.ttl_ns());
    to.acquired_at = instant(from.acquired_ns(), check);
    to.expires_at = instant(from.expires_ns(), check);
    to.held_since = instant(from.held_since_ns(), check);
    if (from.has_priority()) to.priority = from.priority();
    if (from.has_progress())
        to.progress = lease::Progress{from.progress().count(), instant(from.progress().since_ns(), check)};
    name(from.holder(), to.holder, lease::limits::holder_bytes, check);
    text(from.session(), to.session, lease::limits::session_bytes, check);
    text(from.reason(), to.reason, lease::limits::reason_bytes, check);
    text(from.metadata(), to.metadata, lease::limits::metadata_bytes, check);
    const bool dated = from.acquired_wall_ms() >= 0 && from.acquired_wall_ms() < lease::limits::wall_ms_ceiling;
    if (check.that(dated, "a lease is dated out of range")) to.acquired_wall_ms = from.acquired_wall_ms();
}

void read(const pb::Waiter& from, lease::Waiter& to, Check& check) {
    to.id = from.id();
    to.priority = from.priority();
    to.agent = from.agent();
    to.predicate = predicate(from.predicate(), check);
    to.until = instant(from.until_ns(), check);
    name(from.holder(), to.holder, lease::limits::holder_bytes, check);
    text(from.session(), to.session, lease::limits::session_bytes, check);
}

void read(const pb::EndedLease& from, lease::EndedLease& to, Check& check) {
    to.token = token(from.token(), check);
    to.how = ending(from.how(), check);
    to.at = instant(from.at_ns(), check);
}

void read(const pb::Reservation& from, lease::Reservation& to, Check& check) {
    read(from.lease(), to.lease, check);
    to.until = instant(from.until_ns(), check);
}

void read(const pb::PastHolding& from, lease::PastHolding& to, Check& check) {
    name(from.holder(), to.holder, lease::limits::holder_bytes, check);
    to.until = instant(from.until_ns(), check);
    check.that(from.held_ns() > 0 && from.held_ns() <= lease::limits::quota_ceiling.count(),
               "a holding is out of range");
    to.held = Duration(from.held_ns());
}

template <class From, class To>
void read_all(const From& from, std::vector<To>& to, std::size_t most, Check& check) {
    const auto count = static_cast<std::size_t>(from.size());
    if (!check.that(count <= most, "a record has too many entries")) return;
    to.clear();
    to.reserve(count);
    for (const auto& one : from) {
        read(one, to.emplace_back(), check);
        if (check.fails()) return;
    }
}

bool in_order(const std::vector<lease::Lease>& leases) {
    for (std::size_t i = 1; i < leases.size(); ++i)
        if (leases[i].token <= leases[i - 1].token) return false;
    return true;
}

}  // namespace

store::quorum::Ballot read(const pb::Ballot& from, Check& check) {
    check.that(from.counter() < ballot_limit, "a ballot is out of range");
    return store::quorum::Ballot{from.counter(), from.boot(), read_node(from.node(), check)};
}

store::quorum::NodeIndex read_node(std::uint32_t from, Check& check) {
    if (!check.that(from < max_members, "there is no such node")) return 0;
    return static_cast<store::quorum::NodeIndex>(from);
}

void read_resource(const std::string& from, std::string& to, Check& check) {
    name(from, to, full_name_bytes, check);
}

void read(const pb::Record& from, store::cas::RelativeRecord& to, Check& check) {
    lease::Record& record = to.record;
    read_all(from.leases(), record.leases, lease::limits::leases_per_record, check);
    check.that(in_order(record.leases), "leases are not in the order of their tokens");
    read_all(from.ended(), record.ended, lease::limits::ended_per_record, check);
    read_all(from.waiters(), record.waiters, lease::limits::waiters_per_record, check);
    read_all(from.reserved(), record.reserved, max_reserved, check);
    read_all(from.past(), record.past, lease::limits::past_holdings_per_record, check);
    check.that(from.last_token() < lease::token_limit, "a token is out of range");
    record.last_token = from.last_token();
}

}  // namespace holdfast::codec::peer
