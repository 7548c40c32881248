#include "store/cas/stored_record.h"

#include <algorithm>

#include "codec/record/record_codec.h"

namespace holdfast::store::cas {
namespace {

/// The bytes may hold any value: times saturate at the ends of time.
EngineTime later(EngineTime time, Duration by) {
    Duration::rep sum = 0;
    if (!__builtin_add_overflow(time.time_since_epoch().count(), by.count(), &sum)) return EngineTime{Duration{sum}};
    return by > Duration::zero() ? EngineTime::max() : EngineTime::min();
}

Duration between(EngineTime from, EngineTime to) {
    Duration::rep difference = 0;
    if (!__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(), &difference))
        return Duration{difference};
    return to > from ? Duration::max() : Duration::min();
}

/// Calls `visit` with each time at which a lease, a reservation or a waiter ends, or would.
template <class Visit>
void for_each_end(const StoredRecord& stored, Visit visit) {
    const auto at = [&](Instant instant) { return later(stored.written_at, instant.time_since_epoch()); };
    for (const lease::Lease& lease : stored.relative.record.leases) {
        visit(at(lease.expires_at));
        if (lease.resumable) visit(later(at(lease.expires_at), lease::limits::grace));
    }
    for (const lease::Reservation& reserved : stored.relative.record.reserved)
        visit(at(reserved.until));
    for (const lease::Waiter& waiter : stored.relative.record.waiters)
        visit(at(waiter.until));
}

}  // namespace

std::optional<StoredRecord> decode_stored(const StoredValue& value) {
    StoredRecord record{value.write, value.written_at, {}};
    if (value.bytes.empty()) return record;
    auto decoded = codec::record::decode_record(value.bytes);
    if (!decoded) return std::nullopt;
    record.relative.record = std::move(*decoded);
    return record;
}

Instant Moment::to_here(EngineTime time) const {
    const EngineTime moved = later(time, -engine.time_since_epoch());
    return Instant{later(moved, here.time_since_epoch()).time_since_epoch()};
}

EngineTime Moment::to_engine(Instant instant) const {
    if (instant == Instant::max()) return EngineTime::max();
    return later(engine, instant - here);
}

lease::Record record_here(const StoredRecord& stored, const Moment& moment, const ClockRates& rates) {
    const Instant origin =
        moment.here - std::clamp<Duration>(between(stored.written_at, moment.engine), -24h * 365, 24h * 365);
    lease::Record record = to_absolute(stored.relative, origin);
    if (rates.rho() > 0) rates.to_usable(record, moment.here);
    return record;
}

StoredRecord to_stored(lease::Record record, const Moment& moment, const ClockRates& rates, WriteId write) {
    if (rates.rho() > 0) rates.to_kept(record, moment.here);
    return {write, moment.engine, to_relative(std::move(record), moment.here)};
}

Window window_of(const StoredRecord& stored, EngineTime decided_at) {
    Window window;
    for_each_end(stored, [&](EngineTime end) {
        if (end <= decided_at)
            window.from = std::max(window.from, end);
        else
            window.until = std::min(window.until, end);
    });
    return window;
}

EngineTime next_end(const StoredRecord& stored) {
    EngineTime next = EngineTime::max();
    const auto at = [&](Instant instant) { return later(stored.written_at, instant.time_since_epoch()); };
    const lease::Record& record = stored.relative.record;
    for (const lease::Lease& lease : record.leases)
        next = std::min(next, at(lease.expires_at));
    for (const lease::Reservation& reserved : record.reserved)
        next = std::min(next, at(reserved.until));
    for (const lease::Waiter& waiter : record.waiters)
        next = std::min(next, at(waiter.until));
    return next;
}

EngineTime nothing_left_from(const StoredRecord& stored) {
    EngineTime last = stored.written_at;
    const auto at = [&](Instant instant) { return later(stored.written_at, instant.time_since_epoch()); };
    for_each_end(stored, [&](EngineTime end) { last = std::max(last, end); });
    const auto counts_until = [&](const lease::Lease& lease, EngineTime end) {  // R6
        if (!lease.metered) return;
        last = std::max(last, later(end, std::min(between(at(lease.held_since), end), lease::limits::quota_ceiling)));
    };
    for (const lease::Lease& lease : stored.relative.record.leases) {
        last = std::max(last, later(at(lease.expires_at), lease::limits::ended_kept));
        counts_until(lease, later(at(lease.expires_at), lease.resumable ? lease::limits::grace : Duration::zero()));
    }
    for (const lease::Reservation& reserved : stored.relative.record.reserved)
        counts_until(reserved.lease, at(reserved.until));
    for (const lease::PastHolding& past : stored.relative.record.past)
        last = std::max(last, later(at(past.until), past.held));
    for (const lease::EndedLease& ended : stored.relative.record.ended)
        last = std::max(last, later(at(ended.at), lease::limits::ended_kept));
    return last;
}

std::vector<std::string_view> holders_in(const lease::Record& record) {
    std::vector<std::string_view> holders;
    for (const lease::Lease& lease : record.leases)
        holders.push_back(lease.holder);
    for (const lease::Reservation& reserved : record.reserved)
        holders.push_back(reserved.lease.holder);
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    return holders;
}

}  // namespace holdfast::store::cas
