#include "codec/record/record_codec.h"

#include "lease/limits.h"
#include "record.pb.h"

namespace holdfast::codec::record {
namespace {

Instant instant_of(std::int64_t ns) {
    return Instant{Duration{ns}};
}

std::int64_t ns_of(Instant instant) {
    return instant.time_since_epoch().count();
}

// On disk zero means that the field is absent, so every enumerator is stored as its value plus one.
saved::Predicate to_saved(lease::Predicate predicate) {
    return static_cast<saved::Predicate>(static_cast<int>(predicate) + 1);
}

saved::Ending to_saved(lease::Ending ending) {
    return static_cast<saved::Ending>(static_cast<int>(ending) + 1);
}

static_assert(static_cast<int>(lease::Predicate::renames) + 1 == saved::RENAMES);
static_assert(static_cast<int>(lease::Predicate::mutates) + 1 == saved::MUTATES);
static_assert(static_cast<int>(lease::Ending::revoked) + 1 == saved::REVOKED);

void encode(const lease::Lease& lease, saved::Lease& out) {
    out.set_token(lease.token);
    out.set_predicate(to_saved(lease.predicate));
    out.set_barred(!lease.renewable);
    out.set_ttl_ns(lease.ttl.count());
    out.set_acquired_at_ns(ns_of(lease.acquired_at));
    out.set_expires_at_ns(ns_of(lease.expires_at));
    out.set_holder(lease.holder);
    out.set_session(lease.session);
    out.set_reason(lease.reason);
    out.set_metadata(lease.metadata);
    out.set_resumable(lease.resumable);
    out.set_metered(lease.metered);
    out.set_acquired_wall_ms(lease.acquired_wall_ms);
    if (lease.held_since != lease.acquired_at) out.set_held_since_ns(ns_of(lease.held_since));
    if (lease.priority) out.set_priority(*lease.priority);
    if (!lease.progress) return;
    out.mutable_progress()->set_count(lease.progress->count);
    out.mutable_progress()->set_since_ns(ns_of(lease.progress->since));
}

void encode(const lease::Waiter& waiter, saved::Waiter& out) {
    out.set_id(waiter.id);
    out.set_priority(waiter.priority);
    out.set_agent(waiter.agent);
    out.set_predicate(to_saved(waiter.predicate));
    out.set_until_ns(ns_of(waiter.until));
    out.set_holder(waiter.holder);
    out.set_session(waiter.session);
}

bool is_choice(int value, int last) {
    return value >= 1 && value <= last;
}

std::optional<lease::Lease> decode(const saved::Lease& in) {
    if (in.token() == 0 || in.token() >= lease::token_limit || in.ttl_ns() <= 0) return std::nullopt;
    if (!is_choice(in.predicate(), saved::RENAMES) || in.holder().empty()) return std::nullopt;
    if (in.acquired_wall_ms() < 0 || in.acquired_wall_ms() >= lease::limits::wall_ms_ceiling) return std::nullopt;
    lease::Lease lease{.token = in.token(),
                       .predicate = static_cast<lease::Predicate>(in.predicate() - 1),
                       .renewable = !in.barred(),
                       .resumable = in.resumable(),
                       .metered = in.metered(),
                       .ttl = Duration{in.ttl_ns()},
                       .acquired_at = instant_of(in.acquired_at_ns()),
                       .expires_at = instant_of(in.expires_at_ns()),
                       .held_since = instant_of(in.has_held_since_ns() ? in.held_since_ns() : in.acquired_at_ns()),
                       .priority = {},
                       .progress = {},
                       .holder = in.holder(),
                       .session = in.session(),
                       .reason = in.reason(),
                       .metadata = in.metadata(),
                       .acquired_wall_ms = in.acquired_wall_ms()};
    if (in.has_priority()) lease.priority = in.priority();
    if (in.has_progress()) lease.progress = {in.progress().count(), instant_of(in.progress().since_ns())};
    return lease;
}

}  // namespace

std::string encode_record(const lease::Record& record) {
    saved::Record out;
    for (const lease::Lease& lease : record.leases)
        encode(lease, *out.add_leases());
    for (const lease::EndedLease& ended : record.ended) {
        saved::EndedLease& one = *out.add_ended();
        one.set_token(ended.token);
        one.set_how(to_saved(ended.how));
        one.set_at_ns(ns_of(ended.at));
    }
    for (const lease::Reservation& kept : record.reserved) {
        saved::Reservation& one = *out.add_reserved();
        encode(kept.lease, *one.mutable_lease());
        one.set_until_ns(ns_of(kept.until));
    }
    for (const lease::Waiter& waiter : record.waiters)
        encode(waiter, *out.add_waiters());
    for (const lease::PastHolding& past : record.past) {
        saved::PastHolding& one = *out.add_past();
        one.set_holder(past.holder);
        one.set_until_ns(ns_of(past.until));
        one.set_held_ns(past.held.count());
    }
    out.set_last_token(record.last_token);
    return out.SerializeAsString();
}

std::optional<lease::Record> decode_record(std::string_view bytes) {
    saved::Record in;
    if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
    if (in.last_token() >= lease::token_limit) return std::nullopt;
    lease::Record record;
    record.last_token = in.last_token();
    for (const saved::Lease& one : in.leases()) {
        auto lease = decode(one);
        if (!lease || (!record.leases.empty() && record.leases.back().token >= lease->token)) return std::nullopt;
        record.leases.push_back(std::move(*lease));
    }
    for (const saved::EndedLease& one : in.ended()) {
        if (one.token() == 0 || !is_choice(one.how(), saved::REVOKED)) return std::nullopt;
        record.ended.push_back({one.token(), static_cast<lease::Ending>(one.how() - 1), instant_of(one.at_ns())});
    }
    for (const saved::Reservation& one : in.reserved()) {
        auto lease = decode(one.lease());
        if (!lease) return std::nullopt;
        record.reserved.push_back({std::move(*lease), instant_of(one.until_ns())});
    }
    for (const saved::Waiter& one : in.waiters()) {
        if (one.id() == 0 || one.holder().empty() || !is_choice(one.predicate(), saved::RENAMES)) return std::nullopt;
        record.waiters.push_back({.id = one.id(),
                                  .priority = one.priority(),
                                  .agent = one.agent(),
                                  .predicate = static_cast<lease::Predicate>(one.predicate() - 1),
                                  .until = instant_of(one.until_ns()),
                                  .holder = one.holder(),
                                  .session = one.session()});
    }
    for (const saved::PastHolding& one : in.past()) {
        const bool too_long = one.held_ns() <= 0 || one.held_ns() > lease::limits::quota_ceiling.count();
        if (one.holder().empty() || too_long) return std::nullopt;
        record.past.push_back({one.holder(), instant_of(one.until_ns()), Duration{one.held_ns()}});
    }
    return record;
}

}  // namespace holdfast::codec::record
