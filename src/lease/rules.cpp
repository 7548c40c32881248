#include "lease/rules.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::core {
namespace {

/// G2: a holder never conflicts with itself in the same session.
template <class Other>
bool conflicts(const Claim& claim, const Other& other) {
    if (compatible(claim.predicate, other.predicate)) return false;
    return claim.holder != other.holder || claim.session != other.session;
}

bool is_ahead(const Waiter& waiter, const Claim& claim) {
    return claim.waiter_id == 0 || waiter.id < claim.waiter_id;
}

LeaseState state_of_ended(const Record& record, Token token) {
    const EndedLease* ended = record.find_ended(token);
    return ended != nullptr ? state_of(ended->how) : LeaseState::unknown;
}

}  // namespace

Code code_for(LeaseState state) {
    switch (state) {
        case LeaseState::released:
            return Code::lease_released;
        case LeaseState::expired:
            return Code::lease_expired;
        case LeaseState::revoked:
            return Code::lease_revoked;
        case LeaseState::active:
        case LeaseState::unknown:
            break;
    }
    return Code::unknown_lease;
}

std::vector<Conflict> conflicts_of(const Record& record, const Claim& claim, Instant now) {
    std::vector<Conflict> found;
    const auto full = [&] { return found.size() == limits::named_per_record; };
    for (const Lease& lease : record.leases) {
        if (full()) return found;
        if (lease.active(now) && conflicts(claim, lease))
            found.push_back({lease.predicate, lease.token, lease.holder, lease.reason, lease.expires_at - now});
    }
    for (const Waiter& waiter : record.waiters) {
        if (full()) return found;
        if (now < waiter.until && is_ahead(waiter, claim) && conflicts(claim, waiter))
            found.push_back({waiter.predicate, 0, waiter.holder, {}, waiter.until - now});
    }
    return found;
}

AcquireVerdict acquire(Record& record, const Claim& claim, Instant now) {
    settle(record, now);
    HOLDFAST_ASSERT(claim.token > record.last_token);  // G3
    if (auto found = conflicts_of(record, claim, now); !found.empty()) return Busy{std::move(found)};
    if (record.leases.size() >= limits::leases_per_record) return Rejected{Code::too_many_leases};
    dequeue(record, claim.waiter_id);
    record.last_token = claim.token;
    record.leases.push_back({.token = claim.token,
                             .predicate = claim.predicate,
                             .renewable = true,
                             .ttl = claim.ttl,
                             .acquired_at = now,
                             .expires_at = now + claim.ttl,
                             .holder = std::string(claim.holder),
                             .session = std::string(claim.session),
                             .reason = std::string(claim.reason),
                             .metadata = std::string(claim.metadata)});
    return Granted{record.leases.back()};
}

void roll_back(Record& record, Token token) {
    std::erase_if(record.leases, [&](const Lease& lease) { return lease.token == token; });
}

std::optional<Rejected> enqueue(Record& record, const Claim& claim, Instant until) {
    HOLDFAST_ASSERT(claim.waiter_id != 0);
    dequeue(record, claim.waiter_id);
    if (record.waiters.size() >= limits::waiters_per_record) return Rejected{Code::too_many_waiters};
    const auto place = std::find_if(record.waiters.begin(), record.waiters.end(),
                                    [&](const Waiter& waiter) { return waiter.id > claim.waiter_id; });
    record.waiters.insert(place, {.id = claim.waiter_id,
                                  .predicate = claim.predicate,
                                  .until = until,
                                  .holder = std::string(claim.holder),
                                  .session = std::string(claim.session)});
    return std::nullopt;
}

void dequeue(Record& record, std::uint64_t waiter_id) {
    std::erase_if(record.waiters, [&](const Waiter& waiter) { return waiter.id == waiter_id; });
}

RenewVerdict renew(Record& record, const Renewal& renewal, const Policy& policy, Instant now) {
    settle(record, now);
    Lease* lease = record.find(renewal.token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, renewal.token))};
    if (lease->holder != renewal.holder) return Rejected{Code::not_holder};
    if (const auto barred = bar_to(policy, renewal.holder, renewal.resource)) return Rejected{*barred};
    if (!lease->renewable) return Rejected{Code::renewal_barred};
    const auto decision = decide_ttl(policy, renewal.ttl.value_or(lease->ttl));
    if (const auto* refused = std::get_if<RefusedTtl>(&decision)) return Rejected{refused->code};
    const GrantedTtl& granted = std::get<GrantedTtl>(decision);
    lease->ttl = granted.ttl;
    // Never earlier than promised before: the answer may be lost, and the holder goes by what it last heard (T3).
    lease->expires_at = std::max(lease->expires_at, now + granted.ttl);
    return Renewed{*lease, granted.cut};
}

ReleaseVerdict release(Record& record, Token token, std::string_view holder, Instant now) {
    settle(record, now);
    const Lease* lease = record.find(token);
    if (lease == nullptr) return AlreadyEnded{state_of_ended(record, token)};
    if (lease->holder != holder) return Rejected{Code::not_holder};
    Released released{*lease};
    record.end(token, Ending::released, now);
    return released;
}

std::variant<Lease, Rejected> revoke(Record& record, Token token, Instant now) {
    settle(record, now);
    const Lease* lease = record.find(token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, token))};
    Lease revoked = *lease;
    record.end(token, Ending::revoked, now);
    return revoked;
}

std::variant<Lease, Rejected> bar(Record& record, Token token, Instant now) {
    settle(record, now);
    Lease* lease = record.find(token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, token))};
    lease->renewable = false;
    return *lease;
}

Verified verify(const Record& record, Token token, Instant now) {
    Verified verified;
    for (const Lease& lease : record.leases) {
        if (!lease.active(now)) {
            if (lease.token == token) {
                verified.state = LeaseState::expired;
                verified.ended_ago = now - lease.expires_at;
            }
            continue;
        }
        if (verified.current.size() < limits::named_per_record) verified.current.push_back(lease);
        if (lease.token != token) continue;
        verified.state = LeaseState::active;
        verified.lease = lease;
    }
    if (verified.state != LeaseState::unknown) return verified;
    if (const EndedLease* ended = record.find_ended(token); ended != nullptr && now < ended->at + limits::ended_kept) {
        verified.state = state_of(ended->how);
        verified.ended_ago = now - ended->at;
    }
    return verified;
}

}  // namespace holdfast::core
