#include "store/quorum/changes.h"

namespace holdfast::core {
namespace {

/// Whatever goes between nodes arrives a little later than it left, and moves as a whole (Q6); what a renewal adds is
/// more than the rounding on the way.
constexpr Duration rounding = 1us;

bool is_renewed(const Lease& before, const Lease& after) {
    return after.expires_at - after.acquired_at > before.expires_at - before.acquired_at + rounding;
}

void tell_end(const Accepted& accepted, const Lease& lease, StoreListener& listener) {
    const EndedLease* ended = accepted.after.find_ended(lease.token);
    // One that left no trace was taken back before its holder was told of it.
    const Ending how = ended == nullptr ? Ending::released : ended->how;
    if (how == Ending::expired) return listener.on_expired(accepted.resource, lease, Duration::zero());
    listener.on_changed(accepted.resource, lease,
                        how == Ending::revoked ? LeaseChange::revoked : LeaseChange::released);
}

}  // namespace

void tell_changes(const Accepted& accepted, const ClockRates& rates, StoreListener& listener) {
    for (const Lease& lease : accepted.before.leases)
        if (accepted.after.find(lease.token) == nullptr) tell_end(accepted, lease, listener);
    for (const Lease& lease : accepted.after.leases) {
        const Lease* had = accepted.before.find(lease.token);
        if (had != nullptr && !is_renewed(*had, lease)) continue;
        const bool known = had != nullptr || accepted.before.find_ended(lease.token) != nullptr;
        Lease told = lease;
        told.expires_at = accepted.now + rates.usable(lease.expires_at - accepted.now);
        listener.on_changed(accepted.resource, told, known ? LeaseChange::renewed : LeaseChange::granted);
    }
}

}  // namespace holdfast::core
