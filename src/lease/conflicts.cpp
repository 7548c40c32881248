#include "lease/conflicts.h"

#include <algorithm>

namespace holdfast::lease {
namespace {

/// G2: a claim without a session shares its party with no other.
template <class Other>
bool same_party(const Claim& claim, const Other& other) {
    return !claim.session.empty() && claim.session == other.session && claim.holder == other.holder;
}

/// G2, R5: the leases that an agent left to resume do not conflict with its claims.
bool in_the_way(const Claim& claim, const Lease& lease) {
    if (compatible(claim.predicate, lease.predicate) || same_party(claim, lease)) return false;
    const bool gives_way = lease.resumable || (claim.replaces_own && lease.session.empty());
    return !(gives_way && claim.holder == lease.holder);
}

bool in_the_way(const Claim& claim, const Waiter& waiter) {
    if (waiter.id == claim.request) return false;
    if (compatible(claim.predicate, waiter.predicate) || same_party(claim, waiter)) return false;
    // A queued plain request goes before a new one. Their priorities may come from different nodes' clocks, so do not
    // compare them (T1).
    if (!claim.queued && !claim.agent && !waiter.agent) return true;
    return older(waiter.rank(), claim.rank());
}

/// Collects the conflicts of a claim, record by record.
class Look {
 public:
    Look(const Claim& claim, Instant now) : claim_(claim), now_(now) {}

    /// Returns false once the search can stop.
    bool at(std::string_view resource, const Record& record) {
        for (const Lease& lease : record.leases)
            if (lease.active(now_))
                holder(resource, lease, lease.expires_at, false);
            else if (lease.resumable && now_ < lease.expires_at + limits::grace)
                holder(resource, lease, lease.expires_at + limits::grace, true);
        for (const Reservation& kept : record.reserved)
            if (now_ < kept.until) holder(resource, kept.lease, kept.until, true);
        for (const Waiter& waiter : record.waiters) {
            if (now_ < waiter.until && in_the_way(claim_, waiter)) ahead(resource, waiter);
            place(waiter);
        }
        for (const Waiter& waiter : record.absent)
            place(waiter);
        standing_.too_many = ++looked_at_ > limits::obstacles || found_ > limits::obstacles;
        return !standing_.too_many;
    }

    ConflictReport take() { return std::move(standing_); }

 private:
    void holder(std::string_view resource, const Lease& lease, Instant ends, bool reserved) {
        if (!in_the_way(claim_, lease)) return;
        const Instant free_at = lease.resumable && !reserved ? ends + limits::grace : ends;
        standing_.free_in = std::max(standing_.free_in, free_at - now_);
        // An agent is not older than itself: it must not wait for its own other session either.
        if (claim_.agent && lease.priority)
            standing_.older_holder |=
                !older({claim_.priority, true, claim_.holder, 0}, {*lease.priority, true, lease.holder, 0});
        name({lease.predicate, lease.token, reserved, std::string(resource), lease.holder, lease.reason, ends - now_});
    }

    /// The same request may have waited before, through a node that no longer answers.
    void place(const Waiter& waiter) {
        if (claim_.queued || claim_.agent || waiter.agent || now_ >= waiter.until) return;
        if (waiter.predicate != claim_.predicate || !same_party(claim_, waiter)) return;
        standing_.find_own(waiter.id, waiter.priority);
    }

    void ahead(std::string_view resource, const Waiter& waiter) {
        ++standing_.ahead;
        if (!waiter.agent) standing_.last_plain = std::max(standing_.last_plain, waiter.priority);
        standing_.older_waiter |= claim_.agent && waiter.agent;
        name({waiter.predicate, 0, false, std::string(resource), waiter.holder, {}, waiter.until - now_});
    }

    void name(Conflict conflict) {
        ++found_;
        if (standing_.conflicts.size() < limits::named_per_record) standing_.conflicts.push_back(std::move(conflict));
    }

    const Claim& claim_;
    const Instant now_;
    ConflictReport standing_;
    std::size_t found_ = 0;
    std::size_t looked_at_ = 0;  // all records visited, also those without a conflict: the work is bounded too
};

Claim claim_of(const Waiter& waiter) {
    Claim claim;
    claim.holder = waiter.holder;
    claim.session = waiter.session;
    claim.predicate = waiter.predicate;
    claim.priority = waiter.priority;
    claim.agent = waiter.agent;
    claim.request = waiter.id;
    claim.queued = true;
    return claim;
}

}  // namespace

void ConflictReport::add(ConflictReport other) {
    for (Conflict& conflict : other.conflicts)
        if (conflicts.size() < limits::named_per_manifest) conflicts.push_back(std::move(conflict));
    ahead = std::max(ahead, other.ahead);
    last_plain = std::max(last_plain, other.last_plain);
    if (other.own_entry != 0) find_own(other.own_entry, other.own_place);
    free_in = std::max(free_in, other.free_in);
    older_holder |= other.older_holder;
    older_waiter |= other.older_waiter;
    too_many |= other.too_many;
}

ConflictReport standing_of(const Record& record, const Neighbours& neighbours, const Claim& claim, Instant now) {
    Look look(claim, now);
    if (look.at({}, record))
        neighbours.visit(claim.predicate,
                         [&](std::string_view resource, const Record& other) { return look.at(resource, other); });
    return look.take();
}

Turn judge(const ConflictReport& standing, const Claim& claim, bool holds_something) {
    if (!claim.agent) return Turn::wait;
    const bool outranked = standing.older_holder || standing.older_waiter;
    if (holds_something && outranked) return Turn::die;
    return standing.older_holder && !claim.queued ? Turn::die : Turn::wait;
}

std::vector<std::uint64_t> outranked_by(const Record& record, const Neighbours& neighbours, const Claim& claim) {
    std::vector<std::uint64_t> found;
    if (!claim.agent) return found;
    const auto gather = [&](std::string_view, const Record& queue) {
        for (const Waiter& waiter : queue.waiters)
            if (waiter.agent && !same_party(claim, waiter) && !compatible(claim.predicate, waiter.predicate) &&
                older(claim.rank(), waiter.rank()))
                found.push_back(waiter.id);
        return true;
    };
    gather({}, record);
    neighbours.visit(claim.predicate, gather);
    return found;
}

std::vector<std::uint64_t> due_waiters(const Record& record, const Neighbours& neighbours, Instant now) {
    std::vector<std::uint64_t> due;
    PredicateSet ahead;
    for (const Waiter& waiter : record.waiters) {
        if (now >= waiter.until) continue;
        // A waiter that conflicts with an older one in the same queue need not be checked. Waiters of one party do not
        // conflict.
        if (ahead.admits(waiter.predicate) && standing_of(record, neighbours, claim_of(waiter), now).free())
            due.push_back(waiter.id);
        ahead.insert(waiter.predicate);
        const bool blocked_for_all = std::none_of(all_predicates.begin(), all_predicates.end(),
                                                  [&](Predicate predicate) { return ahead.admits(predicate); });
        if (blocked_for_all) break;
    }
    return due;
}

}  // namespace holdfast::lease
