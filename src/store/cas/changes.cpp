#include "store/cas/changes.h"

#include <algorithm>

namespace holdfast::store::cas {
namespace {

/// A record sent between nodes arrives a little later and is moved as a whole (Q6); a renewal adds more than the
/// rounding on the way.
constexpr Duration rounding = 1us;

template <class Entries, class Same>
bool all_still_there(const Entries& before, const Entries& after, Same same) {
    return std::all_of(before.begin(), before.end(), [&](const auto& entry) {
        return std::any_of(after.begin(), after.end(), [&](const auto& other) { return same(entry, other); });
    });
}

}  // namespace

LeaseChange as_change(ChangeKind became) {
    switch (became) {
        case ChangeKind::granted:
            return LeaseChange::granted;
        case ChangeKind::renewed:
            return LeaseChange::renewed;
        case ChangeKind::revoked:
            return LeaseChange::revoked;
        case ChangeKind::released:
        case ChangeKind::expired:
            break;
    }
    return LeaseChange::released;
}

bool is_renewed(const lease::Lease& before, const lease::Lease& after) {
    return after.expires_at - after.acquired_at > before.expires_at - before.acquired_at + rounding;
}

ChangeKind how_it_ended(const lease::Record& after, lease::Token token) {
    const lease::EndedLease* ended = after.find_ended(token);
    // A lease that left no trace was taken back before it was reported to its holder.
    const lease::Ending how = ended == nullptr ? lease::Ending::released : ended->how;
    if (how == lease::Ending::expired) return ChangeKind::expired;
    return how == lease::Ending::revoked ? ChangeKind::revoked : ChangeKind::released;
}

void date_grants(lease::Record& record, const std::vector<lease::Token>& granted,
                 const std::function<std::int64_t(Instant)>& shown_wall_ms) {
    if (!shown_wall_ms) return;
    for (const lease::Token token : granted)
        if (lease::Lease* lease = record.find(token)) lease->acquired_wall_ms = shown_wall_ms(lease->acquired_at);
}

bool frees_something(const lease::Record& before, const lease::Record& after) {
    const auto lease = [](const lease::Lease& a, const lease::Lease& b) { return a.token == b.token; };
    const auto kept = [](const lease::Reservation& a, const lease::Reservation& b) {
        return a.lease.token == b.lease.token;
    };
    const auto waiter = [](const lease::Waiter& a, const lease::Waiter& b) { return a.id == b.id; };
    return !all_still_there(before.leases, after.leases, lease) ||
           !all_still_there(before.reserved, after.reserved, kept) ||
           !all_still_there(before.waiters, after.waiters, waiter);
}

void tell_changes(const Replaced& replaced, const ClockRates& rates, StoreListener& listener) {
    for_each_change(replaced.before, replaced.after, [&](ChangeKind became, const lease::Lease& lease) {
        if (became == ChangeKind::expired) return listener.on_expired(replaced.resource, lease, Duration::zero());
        if (became != ChangeKind::granted && became != ChangeKind::renewed)
            return listener.on_changed(replaced.resource, lease, as_change(became));
        lease::Lease told = lease;
        told.expires_at = replaced.now + rates.usable(lease.expires_at - replaced.now);
        listener.on_changed(replaced.resource, told, as_change(became));
    });
}

}  // namespace holdfast::store::cas
