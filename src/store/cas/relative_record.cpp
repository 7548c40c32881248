#include "store/cas/relative_record.h"

#include <cmath>

#include "base/assert.h"

namespace holdfast::store::cas {
namespace {

/// Calls `change` with every instant of the record.
template <class Change>
void for_each_instant(lease::Record& record, Change change) {
    const auto of_lease = [&](lease::Lease& lease) {
        change(lease.acquired_at);
        change(lease.expires_at);
        change(lease.held_since);
        if (lease.progress) change(lease.progress->since);
    };
    for (lease::Lease& lease : record.leases)
        of_lease(lease);
    for (lease::EndedLease& ended : record.ended)
        change(ended.at);
    for (lease::Waiter& waiter : record.waiters)
        change(waiter.until);
    for (lease::Reservation& kept : record.reserved) {
        of_lease(kept.lease);
        change(kept.until);
    }
    for (lease::PastHolding& past : record.past)
        change(past.until);
}

/// A value from another node may be any number: saturates at the ends of time.
Instant moved(Instant instant, Duration by) {
    Duration::rep sum = 0;
    if (!__builtin_add_overflow(instant.time_since_epoch().count(), by.count(), &sum)) return Instant{Duration{sum}};
    return by > Duration::zero() ? Instant::max() : Instant::min();
}

}  // namespace

RelativeRecord to_relative(lease::Record record, Instant now) {
    RelativeRecord relative{std::move(record)};
    relative.record.spare.clear();
    for_each_instant(relative.record, [&](Instant& instant) { instant = moved(instant, -now.time_since_epoch()); });
    return relative;
}

lease::Record to_absolute(RelativeRecord relative, Instant now) {
    lease::Record record = std::move(relative.record);
    for_each_instant(record, [&](Instant& instant) { instant = moved(instant, now.time_since_epoch()); });
    return record;
}

ClockRates::ClockRates(double rho) : rho_(rho) {
    HOLDFAST_ASSERT(rho >= 0 && rho < 0.5);
}

Duration ClockRates::usable(Duration kept) const {
    const double ratio = (1 - rho_) / (1 + rho_);
    return Duration{static_cast<Duration::rep>(std::floor(static_cast<double>(kept.count()) * ratio))};
}

/// The longest duration that usable() maps back to the one asked for, so that a record may be read and written any
/// number of times without losing remaining time.
Duration ClockRates::kept(Duration asked) const {
    const double ratio = (1 + rho_) / (1 - rho_);
    Duration kept{static_cast<Duration::rep>(std::ceil(static_cast<double>(asked.count() + 1) * ratio)) - 1};
    while (usable(kept) > asked)
        --kept;
    while (usable(kept + 1ns) <= asked)
        ++kept;
    return kept;
}

namespace {

/// Instants in the far future are not scaled; no requested duration comes near it.
constexpr Duration far = 100 * 365 * 24h;

template <class Scale>
void scale_what_comes(lease::Record& record, Instant now, Scale scale) {
    for_each_instant(record, [&](Instant& instant) {
        if (instant <= now || instant - far > now) return;
        instant = now + scale(instant - now);
    });
}

}  // namespace

void ClockRates::to_kept(lease::Record& record, Instant now) const {
    scale_what_comes(record, now, [&](Duration left) { return kept(left); });
}

void ClockRates::to_usable(lease::Record& record, Instant now) const {
    scale_what_comes(record, now, [&](Duration left) { return usable(left); });
}

}  // namespace holdfast::store::cas
