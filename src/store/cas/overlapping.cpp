#include "store/cas/overlapping.h"

#include <algorithm>

#include "lease/conflicts.h"

namespace holdfast::store::cas {
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

void merge(lease::Record& into, lease::Record from) {
    merge(
        into.leases, from.leases, [](const lease::Lease& a, const lease::Lease& b) { return a.token == b.token; },
        [](const lease::Lease& lease) { return lease.expires_at; });
    merge(
        into.reserved, from.reserved,
        [](const lease::Reservation& a, const lease::Reservation& b) { return a.lease.token == b.lease.token; },
        [](const lease::Reservation& kept) { return kept.until; });
    merge(
        into.waiters, from.waiters, [](const lease::Waiter& a, const lease::Waiter& b) { return a.id == b.id; },
        [](const lease::Waiter& waiter) { return waiter.until; });
}

bool is_outrun(const lease::Lease& lease, const SeenNeighbours& neighbours, Instant now) {
    lease::Claim claim;
    claim.holder = lease.holder;
    claim.session = lease.session;
    claim.predicate = lease.predicate;
    claim.agent = lease.priority.has_value();
    claim.priority = lease.priority.value_or(0);
    const lease::ConflictReport standing = lease::standing_of(lease::Record{}, neighbours, claim, now);
    return !standing.free() || standing.too_many;
}

}  // namespace

void SeenNeighbours::add(std::string_view resource, lease::Record record) {
    const auto found = records_.find(resource);
    if (found == records_.end())
        records_.emplace(std::string(resource), std::move(record));
    else
        merge(found->second, std::move(record));
}

void SeenNeighbours::visit(lease::Predicate, const Visit& visit) const {
    for (const auto& [resource, record] : records_)
        if (!visit(resource, record)) return;
}

void SeenNeighbours::leave_out_waiters() {
    for (auto& [resource, record] : records_)
        record.waiters.clear();
}

bool is_outrun(const lease::Record& record, const std::vector<lease::Token>& tokens, const SeenNeighbours& neighbours,
               Instant now) {
    return std::any_of(tokens.begin(), tokens.end(), [&](lease::Token token) {
        const lease::Lease* lease = record.find(token);
        return lease != nullptr && is_outrun(*lease, neighbours, now);
    });
}

}  // namespace holdfast::store::cas
