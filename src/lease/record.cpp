#include "lease/record.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"

namespace holdfast::core {

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
    if (found->resumable && how == Ending::expired && !mutant("no_grace"))
        reserved.push_back({*found, found->expires_at + limits::grace});
    if (found->holder.capacity() > spare.capacity()) spare.swap(found->holder);
    leases.erase(found);
    if (ended.size() == limits::ended_per_record) ended.erase(ended.begin());
    ended.push_back({token, how, at});
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
    return first;
}

}  // namespace holdfast::core
