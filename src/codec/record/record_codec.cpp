#include "codec/record/record_codec.h"

#include <vector>

#include "codec/field_writer.h"
#include "lease/limits.h"
#include "record.pb.h"

namespace holdfast::codec::record {
namespace {

namespace limits = lease::limits;

// Enumerations on the wire begin with a value that stands for none.

static_assert(static_cast<int>(lease::Predicate::renames) + 1 == saved::RENAMES);
static_assert(static_cast<int>(lease::Predicate::mutates) + 1 == saved::MUTATES);
static_assert(static_cast<int>(lease::Ending::revoked) + 1 == saved::REVOKED);

// ---- writing: fields in the order of their numbers, as Protobuf writes them ----

template <class Enumeration>
std::uint64_t to_wire(Enumeration value) {
    return static_cast<std::uint64_t>(value) + 1;
}

std::int64_t ns(Instant instant) {
    return instant.time_since_epoch().count();
}

std::uint64_t ns(Duration duration) {
    return static_cast<std::uint64_t>(duration.count());
}

class Writer {
 public:
    explicit Writer(std::string& out) : to_(out) {}

    void write(const lease::Record& record) {
        write_all(saved::Record::kLeasesFieldNumber, record.leases);
        write_all(saved::Record::kEndedFieldNumber, record.ended);
        to_.number(saved::Record::kLastTokenFieldNumber, record.last_token);
        write_all(saved::Record::kReservedFieldNumber, record.reserved);
        write_all(saved::Record::kWaitersFieldNumber, record.waiters);
        write_all(saved::Record::kPastFieldNumber, record.past);
    }

 private:
    template <class Entry>
    void write_all(int field, const std::vector<Entry>& entries) {
        for (const Entry& entry : entries)
            to_.nested(field, [&] { write(entry); });
    }

    void write(const lease::Lease& lease) {
        to_.number(saved::Lease::kTokenFieldNumber, lease.token);
        to_.number(saved::Lease::kPredicateFieldNumber, to_wire(lease.predicate));
        to_.number(saved::Lease::kBarredFieldNumber, !lease.renewable);
        to_.number(saved::Lease::kTtlNsFieldNumber, ns(lease.ttl));
        to_.zigzag(saved::Lease::kAcquiredAtNsFieldNumber, ns(lease.acquired_at));
        to_.zigzag(saved::Lease::kExpiresAtNsFieldNumber, ns(lease.expires_at));
        to_.text(saved::Lease::kHolderFieldNumber, lease.holder);
        to_.text(saved::Lease::kSessionFieldNumber, lease.session);
        to_.text(saved::Lease::kReasonFieldNumber, lease.reason);
        to_.text(saved::Lease::kMetadataFieldNumber, lease.metadata);
        to_.number(saved::Lease::kResumableFieldNumber, lease.resumable);
        if (lease.held_since != lease.acquired_at)
            to_.always_zigzag(saved::Lease::kHeldSinceNsFieldNumber, ns(lease.held_since));
        if (lease.priority) to_.always_zigzag(saved::Lease::kPriorityFieldNumber, *lease.priority);
        if (lease.progress) to_.nested(saved::Lease::kProgressFieldNumber, [&] { write(*lease.progress); });
        to_.number(saved::Lease::kMeteredFieldNumber, lease.metered);
        to_.number(saved::Lease::kAcquiredWallMsFieldNumber, static_cast<std::uint64_t>(lease.acquired_wall_ms));
    }

    void write(const lease::Progress& progress) {
        to_.number(saved::Progress::kCountFieldNumber, progress.count);
        to_.zigzag(saved::Progress::kSinceNsFieldNumber, ns(progress.since));
    }

    void write(const lease::EndedLease& ended) {
        to_.number(saved::EndedLease::kTokenFieldNumber, ended.token);
        to_.number(saved::EndedLease::kHowFieldNumber, to_wire(ended.how));
        to_.zigzag(saved::EndedLease::kAtNsFieldNumber, ns(ended.at));
    }

    void write(const lease::Reservation& reservation) {
        to_.nested(saved::Reservation::kLeaseFieldNumber, [&] { write(reservation.lease); });
        to_.zigzag(saved::Reservation::kUntilNsFieldNumber, ns(reservation.until));
    }

    void write(const lease::Waiter& waiter) {
        to_.number(saved::Waiter::kIdFieldNumber, waiter.id);
        to_.zigzag(saved::Waiter::kPriorityFieldNumber, waiter.priority);
        to_.number(saved::Waiter::kAgentFieldNumber, waiter.agent);
        to_.number(saved::Waiter::kPredicateFieldNumber, to_wire(waiter.predicate));
        to_.zigzag(saved::Waiter::kUntilNsFieldNumber, ns(waiter.until));
        to_.text(saved::Waiter::kHolderFieldNumber, waiter.holder);
        to_.text(saved::Waiter::kSessionFieldNumber, waiter.session);
    }

    void write(const lease::PastHolding& past) {
        to_.text(saved::PastHolding::kHolderFieldNumber, past.holder);
        to_.zigzag(saved::PastHolding::kUntilNsFieldNumber, ns(past.until));
        to_.number(saved::PastHolding::kHeldNsFieldNumber, ns(past.held));
    }

    FieldWriter to_;
};

// ---- reading ----

class Reader {
 public:
    Reader(const TimeLimits& times, Check& check) : times_(times), check_(check) {}

    void read(const saved::Record& from, lease::Record& to) {
        read_all(from.leases(), to.leases, limits::leases_per_record);
        check_.that(in_order(to.leases), "leases are not in the order of their tokens");
        read_all(from.ended(), to.ended, limits::ended_per_record);
        read_all(from.waiters(), to.waiters, limits::waiters_per_record);
        read_all(from.reserved(), to.reserved, max_reserved);
        read_all(from.past(), to.past, limits::past_holdings_per_record);
        check_.that(from.last_token() < lease::token_limit, "a token is out of range");
        to.last_token = from.last_token();
    }

 private:
    template <class From, class To>
    void read_all(const From& from, std::vector<To>& to, std::size_t most) {
        const auto count = static_cast<std::size_t>(from.size());
        if (!check_.that(count <= most, "a record has too many entries")) return;
        to.clear();
        to.reserve(count);
        for (const auto& one : from) {
            read(one, to.emplace_back());
            if (check_.fails()) return;
        }
    }

    void read(const saved::Lease& from, lease::Lease& to) {
        to.token = token(from.token());
        to.predicate = predicate(from.predicate());
        to.renewable = !from.barred();
        to.resumable = from.resumable();
        to.metered = from.metered();
        check_.that(from.ttl_ns() > 0 && from.ttl_ns() <= limits::ttl_ceiling.count(), "a TTL is out of range");
        to.ttl = Duration(from.ttl_ns());
        to.acquired_at = instant(from.acquired_at_ns());
        to.expires_at = instant(from.expires_at_ns());
        to.held_since = from.has_held_since_ns() ? instant(from.held_since_ns()) : to.acquired_at;
        if (from.has_priority()) to.priority = from.priority();
        if (from.has_progress())
            to.progress = lease::Progress{from.progress().count(), instant(from.progress().since_ns())};
        name(from.holder(), to.holder, limits::holder_bytes);
        text(from.session(), to.session, limits::session_bytes);
        text(from.reason(), to.reason, limits::reason_bytes);
        text(from.metadata(), to.metadata, limits::metadata_bytes);
        const bool dated = from.acquired_wall_ms() >= 0 && from.acquired_wall_ms() < limits::wall_ms_ceiling;
        if (check_.that(dated, "a lease is dated out of range")) to.acquired_wall_ms = from.acquired_wall_ms();
    }

    void read(const saved::EndedLease& from, lease::EndedLease& to) {
        to.token = token(from.token());
        to.how = ending(from.how());
        to.at = instant(from.at_ns());
    }

    void read(const saved::Reservation& from, lease::Reservation& to) {
        read(from.lease(), to.lease);
        to.until = instant(from.until_ns());
    }

    void read(const saved::Waiter& from, lease::Waiter& to) {
        check_.that(from.id() != 0, "a waiter has no number");
        to.id = from.id();
        to.priority = from.priority();
        to.agent = from.agent();
        to.predicate = predicate(from.predicate());
        to.until = instant(from.until_ns());
        name(from.holder(), to.holder, limits::holder_bytes);
        text(from.session(), to.session, limits::session_bytes);
    }

    void read(const saved::PastHolding& from, lease::PastHolding& to) {
        name(from.holder(), to.holder, limits::holder_bytes);
        to.until = instant(from.until_ns());
        check_.that(from.held_ns() > 0 && from.held_ns() <= limits::quota_ceiling.count(), "a holding is out of range");
        to.held = Duration(from.held_ns());
    }

    Instant instant(std::int64_t ns) {
        check_.that(ns <= times_.future.count() && ns >= -times_.past.count(), "a time is too far away");
        return Instant(Duration(ns));
    }

    lease::Token token(std::uint64_t from) {
        check_.that(from > 0 && from < lease::token_limit, "a token is out of range");
        return from;
    }

    lease::Predicate predicate(saved::Predicate from) {
        const bool known = from >= saved::PROVIDES && from <= saved::RENAMES;
        if (!check_.that(known, "there is no such predicate")) return {};
        return static_cast<lease::Predicate>(from - 1);
    }

    lease::Ending ending(saved::Ending from) {
        const bool known = from >= saved::RELEASED && from <= saved::REVOKED;
        if (!check_.that(known, "a lease cannot end like this")) return {};
        return static_cast<lease::Ending>(from - 1);
    }

    void text(const std::string& from, std::string& to, std::size_t most) {
        if (check_.that(from.size() <= most, "a text is too long")) to = from;
    }

    void name(const std::string& from, std::string& to, std::size_t most) {
        check_.that(!from.empty(), "a name is empty");
        text(from, to, most);
    }

    static bool in_order(const std::vector<lease::Lease>& leases) {
        for (std::size_t i = 1; i < leases.size(); ++i)
            if (leases[i].token <= leases[i - 1].token) return false;
        return true;
    }

    const TimeLimits& times_;
    Check& check_;
};

}  // namespace

void append_record(const lease::Record& record, std::string& out) {
    Writer(out).write(record);
}

std::string encode_record(const lease::Record& record) {
    std::string bytes;
    append_record(record, bytes);
    return bytes;
}

std::optional<lease::Record> decode_record(std::string_view bytes) {
    saved::Record from;
    if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
    Check check;
    lease::Record record;
    read_record(from, {}, record, check);
    if (check.fails()) return std::nullopt;
    return record;
}

void read_record(const saved::Record& from, const TimeLimits& times, lease::Record& to, Check& check) {
    Reader(times, check).read(from, to);
}

}  // namespace holdfast::codec::record
