#include "lease/record.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::lease {

Lease* Record::find(Token token) {
    const auto found =
        std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) { return lease.token == token; });
    return found == leases.end() ? nullptr : &*found;
}

const Lease* Record::find(Token token) const {
    return const_cast<Record*>(this)->find(token);
}

const EndedLease* Record::find_ended(Token token) const {
    const auto found =
        std::find_if(ended.begin(), ended.end(), [&](const EndedLease& entry) { return entry.token == token; });
    return found == ended.end() ? nullptr : &*found;
}

const Reservation* Record::find_reserved(Token token) const {
    const auto found = std::find_if(reserved.begin(), reserved.end(),
                                    [&](const Reservation& kept) { return kept.lease.token == token; });
    return found == reserved.end() ? nullptr : &*found;
}

void Record::end(Token token, Ending how, Instant at) {
    const auto found =
        std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) { return lease.token == token; });
    HOLDFAST_ASSERT(found != leases.end());
    if (found->resumable && how == Ending::expired)
        reserved.push_back({*found, found->expires_at + limits::grace});
    else
        remember(*found, at);
    if (found->holder.capacity() > spare.capacity()) spare.swap(found->holder);
    leases.erase(found);
    if (ended.size() == limits::ended_per_record) ended.erase(ended.begin());
    ended.push_back({token, how, at});
}

void Record::remember(const Lease& lease, Instant until) {
    if (!lease.metered) return;
    const Duration held = std::min(until - lease.held_since, limits::quota_ceiling);
    if (held <= Duration::zero()) return;
    const auto known =
        std::find_if(past.begin(), past.end(), [&](const PastHolding& entry) { return entry.holder == lease.holder; });
    if (known != past.end() && lease.acquired_at >= known->until) {
        known->until = until;  // held_since of this lease includes the earlier holding
        known->held = held;
        return;
    }
    if (known != past.end()) {
        // Compare both charges as of the later of the two ends.
        const Instant last = std::max(until, known->until);
        known->held = std::max(held - (last - until), known->held - (last - known->until));
        known->until = last;
        return;
    }
    if (past.size() == limits::past_holdings_per_record)
        past.erase(std::min_element(past.begin(), past.end(), [](const PastHolding& a, const PastHolding& b) {
            return a.forgotten_at() < b.forgotten_at();
        }));
    past.push_back({lease.holder, until, held});
}

bool settle(Record& record, Instant now) {
    return settle(record, now, [](const Lease&) {});
}

Instant next_change(const Record& record) {
    Instant first = Instant::max();
    for (const Lease& lease : record.leases)
        first = std::min(first, lease.expires_at);
    for (const Reservation& kept : record.reserved)
        first = std::min(first, kept.until);
    for (const Waiter& waiter : record.waiters)
        first = std::min(first, waiter.until);
    for (const EndedLease& ended : record.ended)
        first = std::min(first, ended.at + limits::ended_kept);
    for (const PastHolding& past : record.past)
        first = std::min(first, past.forgotten_at());
    return first;
}

}  // namespace holdfast::lease
