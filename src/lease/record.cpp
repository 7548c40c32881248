#include "lease/record.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::core {
namespace {

bool same_party(const Waiter& waiter, const Lease& lease) {
    return waiter.holder == lease.holder && waiter.session == lease.session;
}

}  // namespace

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

void Record::end(Token token, Ending how, Instant at) {
    const auto removed = std::erase_if(leases, [&](const Lease& lease) { return lease.token == token; });
    HOLDFAST_ASSERT(removed == 1);
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
    for (const Waiter& waiter : record.waiters)
        first = std::min(first, waiter.until);
    for (const EndedLease& ended : record.ended)
        first = std::min(first, ended.at + limits::ended_kept);
    return first;
}

std::vector<std::uint64_t> due_waiters(const Record& record, Instant now) {
    std::vector<std::uint64_t> due;
    PredicateSet ahead;
    for (const Waiter& waiter : record.waiters) {
        if (now >= waiter.until) continue;
        const bool free =
            ahead.admits(waiter.predicate) &&
            std::all_of(record.leases.begin(), record.leases.end(), [&](const Lease& lease) {
                return !lease.active(now) || same_party(waiter, lease) || compatible(lease.predicate, waiter.predicate);
            });
        if (free) due.push_back(waiter.id);
        ahead.insert(waiter.predicate);
        const bool blocked_for_all = std::none_of(all_predicates.begin(), all_predicates.end(),
                                                  [&](Predicate predicate) { return ahead.admits(predicate); });
        if (blocked_for_all) break;
    }
    return due;
}

}  // namespace holdfast::core
