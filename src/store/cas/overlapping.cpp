#include "store/cas/overlapping.h"

#include <algorithm>

#include "lease/conflicts.h"

namespace holdfast::core {
namespace {

/// Adds entries that are missing, and replaces those that end earlier.
template <class Entry, class Same, class End>
void merge(std::vector<Entry>& into, std::vector<Entry>& from, Same same, End end) {
    for (Entry& entry : from) {
        const auto known =
            std::find_if(into.begin(), into.end(), [&](const Entry& other) { return same(entry, other); });
        if (known == into.end())
            into.push_back(std::move(entry));
        else if (end(*known) < end(entry))
            *known = std::move(entry);
    }
}

void merge(Record& into, Record from) {
    merge(
        into.leases, from.leases, [](const Lease& a, const Lease& b) { return a.token == b.token; },
        [](const Lease& lease) { return lease.expires_at; });
    merge(
        into.reserved, from.reserved,
        [](const Reservation& a, const Reservation& b) { return a.lease.token == b.lease.token; },
        [](const Reservation& kept) { return kept.until; });
    merge(
        into.waiters, from.waiters, [](const Waiter& a, const Waiter& b) { return a.id == b.id; },
        [](const Waiter& waiter) { return waiter.until; });
}

}  // namespace

void SeenNeighbours::add(std::string_view resource, Record record) {
    const auto found = records_.find(resource);
    if (found == records_.end())
        records_.emplace(std::string(resource), std::move(record));
    else
        merge(found->second, std::move(record));
}

void SeenNeighbours::visit(Predicate, const Visit& visit) const {
    for (const auto& [resource, record] : records_)
        if (!visit(resource, record)) return;
}

void SeenNeighbours::leave_out_waiters() {
    for (auto& [resource, record] : records_)
        record.waiters.clear();
}

bool in_the_way_of(const Lease& lease, const SeenNeighbours& neighbours, Instant now) {
    Claim claim;
    claim.holder = lease.holder;
    claim.session = lease.session;
    claim.predicate = lease.predicate;
    claim.agent = lease.priority.has_value();
    claim.priority = lease.priority.value_or(0);
    const ConflictReport standing = standing_of(Record{}, neighbours, claim, now);
    return !standing.free() || standing.too_many;
}

}  // namespace holdfast::core
