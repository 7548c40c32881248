#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/cas/relative_record.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// The change of a lease from one version of its record to the next.
enum class ChangeKind : std::uint8_t { granted, renewed, released, revoked, expired };

/// Calls `visit(ChangeKind, const Lease&)` for each lease that differs: first those that are gone, as they were, then
/// those that were granted or renewed, as they are. Both records are of the same moment and in the same measure of
/// time. A lease that came and went in between is not reported; one that is there again after it had ended counts as
/// renewed.
template <class Visit>
void for_each_change(const lease::Record& before, const lease::Record& after, Visit visit);

/// True if something is gone that may have blocked a request.
bool frees_something(const lease::Record& before, const lease::Record& after);

/// Sets the wall-clock time of the granted leases, for display: fronts and nodes each compute the instant of a grant a
/// little differently. Does nothing without a clock.
void date_grants(lease::Record& record, const std::vector<lease::Token>& granted,
                 const std::function<std::int64_t(Instant)>& shown_wall_ms);

/// A record and its replacement; both settled, in the measure of time of their keeper.
struct Replaced {
    std::string_view resource;
    const lease::Record& before;
    const lease::Record& after;
    Instant now;
};

/// Notifies the listener of the changed leases, in the holder's measure of time.
void tell_changes(const Replaced& replaced, const ClockRates& rates, StoreListener& listener);

// ---- implementation ----

/// The change as reported to a listener. Expiry is reported separately.
LeaseChange as_change(ChangeKind became);

bool is_renewed(const lease::Lease& before, const lease::Lease& after);
ChangeKind how_it_ended(const lease::Record& after, lease::Token token);

template <class Visit>
void for_each_change(const lease::Record& before, const lease::Record& after, Visit visit) {
    for (const lease::Lease& lease : before.leases)
        if (after.find(lease.token) == nullptr) visit(how_it_ended(after, lease.token), lease);
    for (const lease::Lease& lease : after.leases) {
        const lease::Lease* had = before.find(lease.token);
        if (had != nullptr && !is_renewed(*had, lease)) continue;
        const bool known = had != nullptr || before.find_ended(lease.token) != nullptr;
        visit(known ? ChangeKind::renewed : ChangeKind::granted, lease);
    }
}

}  // namespace holdfast::store::cas
