#include "lease/rules.h"

#include <algorithm>

#include "base/assert.h"
#include "lease/owner.h"

namespace holdfast::lease {
namespace {

/// R6: current leases and reservations of the holder count from their start. A past holding counts less the longer ago
/// it ended.
Instant held_since(const Record& record, std::string_view holder, Duration hold_max, Instant now) {
    Instant since = now;
    for (const PastHolding& past : record.past) {
        if (past.holder != holder) continue;
        const Duration held = hold_max > Duration::zero() ? std::min(past.held, hold_max) : past.held;
        const Duration gap = std::max(now - past.until, Duration::zero());
        if (gap < held) since = std::min(since, now - (held - gap));
    }
    for (const Lease& lease : record.leases)
        if (lease.holder == holder) since = std::min(since, lease.held_since);
    for (const Reservation& kept : record.reserved)
        if (kept.lease.holder == holder) since = std::min(since, kept.lease.held_since);
    return since;
}

Duration left_of_quota(Instant held_since, Duration hold_max, Instant now) {
    if (hold_max <= Duration::zero()) return Duration::max();
    const Duration held = now - held_since;
    return held < hold_max ? hold_max - held : Duration::zero();
}

Instant whole_ms(Instant instant) {
    return std::chrono::floor<std::chrono::milliseconds>(instant);
}

std::optional<Progress> progress_of(std::optional<std::uint64_t> count, Instant now) {
    if (!count) return std::nullopt;
    return Progress{*count, now};
}

/// R5: ends the leases of the agent's earlier epoch. Their reservations stay until they would have ended anyway.
std::vector<Lease> supersede(Record& record, std::string_view holder, Instant now) {
    std::vector<Lease> ended;
    for (const Lease& lease : record.leases)
        if (lease.holder == holder && lease.resumable) ended.push_back(lease);
    for (const Lease& lease : ended) {
        record.reserved.push_back({lease, lease.expires_at + limits::grace});
        record.end(lease.token, Ending::released, now);
    }
    return ended;
}

template <class Which>
bool clear_reserved(Record& record, Instant now, const Which& which) {
    if (record.reserved.empty()) return false;  // as most are
    return std::erase_if(record.reserved, [&](const Reservation& kept) {
               if (!which(kept.lease)) return false;
               record.remember(kept.lease, now);
               return true;
           }) > 0;
}

bool clear_reserved_for(Record& record, std::string_view holder, Instant now) {
    return clear_reserved(record, now, [&](const Lease& lease) { return lease.holder == holder; });
}

/// A lease that is reserved past its expiry is known to have expired, even if its history entry is gone (R5).
LeaseState state_of_ended(const Record& record, Token token, Instant now) {
    if (const EndedLease* ended = record.find_ended(token)) return state_of(ended->how);
    const Reservation* kept = record.find_reserved(token);
    return kept != nullptr && !kept->lease.active(now) ? LeaseState::expired : LeaseState::unknown;
}

}  // namespace

Code code_for(LeaseState state) {
    switch (state) {
        case LeaseState::released:
            return Code::lease_released;
        case LeaseState::grace:
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

AcquireVerdict acquire(Record& record, const Neighbours& neighbours, const Claim& claim, Instant now) {
    settle(record, now);
    ConflictReport standing = standing_of(record, neighbours, claim, now);
    if (standing.too_many) return Rejected{Code::too_many_leases};
    if (!standing.free()) return Busy{std::move(standing)};
    if (record.leases.size() >= limits::leases_per_record) return Rejected{Code::too_many_leases};
    const Instant since = held_since(record, claim.holder, claim.hold_max, now);
    const Duration left = left_of_quota(since, claim.hold_max, now);
    const Duration ttl = std::min(claim.ttl, left);
    if (ttl < std::min(claim.ttl, claim.ttl_min)) return Rejected{Code::over_quota};
    dequeue(record, claim.request);
    Granted granted{nullptr, supersede(record, claim.holder, now)};
    record.last_token = std::max(claim.token, record.last_token + 1);  // G3: another node may be ahead (Q8)
    Lease& lease = record.leases.emplace_back();
    lease.holder.swap(record.spare);
    lease.token = record.last_token;
    lease.predicate = claim.predicate;
    lease.ttl = ttl;
    lease.acquired_at = whole_ms(now);
    lease.expires_at = now + ttl;
    lease.held_since = since == now ? lease.acquired_at : since;
    lease.metered = claim.hold_max > Duration::zero();
    if (claim.agent) lease.priority = claim.priority;
    lease.progress = progress_of(claim.progress, now);
    lease.holder = claim.holder;
    if (!claim.session.empty()) lease.session = claim.session;
    if (!claim.reason.empty()) lease.reason = claim.reason;
    if (!claim.metadata.empty()) lease.metadata = claim.metadata;
    granted.lease = &lease;
    return granted;
}

void roll_back(Record& record, Token token) {
    std::erase_if(record.leases, [&](const Lease& lease) { return lease.token == token; });
}

std::optional<Rejected> enqueue(Record& record, const Claim& claim, Instant until) {
    HOLDFAST_ASSERT(claim.request != 0);
    dequeue(record, claim.request);
    if (claim.takes_over != 0) dequeue(record, claim.takes_over);
    if (record.waiters.size() >= limits::waiters_per_record) return Rejected{Code::too_many_waiters};
    // Grow by an eighth, not by doubling: there may be a hundred thousand waiters.
    if (const std::size_t count = record.waiters.size(); count == record.waiters.capacity())
        record.waiters.reserve(count + count / 8 + 1);
    const auto place = std::find_if(record.waiters.begin(), record.waiters.end(),
                                    [&](const Waiter& waiter) { return older(claim.rank(), waiter.rank()); });
    record.waiters.insert(place, {.id = claim.request,
                                  .priority = claim.priority,
                                  .agent = claim.agent,
                                  .predicate = claim.predicate,
                                  .until = until,
                                  .holder = std::string(claim.holder),
                                  .session = std::string(claim.session)});
    return std::nullopt;
}

void dequeue(Record& record, std::uint64_t request) {
    if (record.waiters.empty() && record.absent.empty()) return;
    const auto is_it = [&](const Waiter& waiter) { return waiter.id == request; };
    std::erase_if(record.waiters, is_it);
    std::erase_if(record.absent, is_it);
}

/// R6. Applies only to holders that report progress.
bool stands_still(const Lease& lease, const Renewal& renewal, Duration idle_max, Instant now) {
    if (idle_max <= Duration::zero() || !lease.progress) return false;
    const bool moved = renewal.progress && *renewal.progress > lease.progress->count;
    return !moved && now >= lease.progress->since + idle_max;
}

RenewVerdict renew(Record& record, const Renewal& renewal, const Policy& policy, Instant now) {
    settle(record, now);
    Lease* lease = record.find(renewal.token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, renewal.token, now))};
    if (lease->holder != renewal.holder) return Rejected{Code::not_holder};
    if (const auto barred = bar_to(policy, renewal.holder, renewal.resource)) return Rejected{*barred};
    if (!lease->renewable) return Rejected{Code::renewal_barred};
    // The backend fixes the TTL of a key: a client that renews in the drone's name must not shorten its time to save
    // its work (K6).
    const bool fixed = owner_of(renewal.resource) == Owner::keys;
    const Duration asked = fixed ? lease->ttl : renewal.ttl.value_or(lease->ttl);
    const NamespacePolicy settings = policy.of(renewal.resource);
    const auto decision = renewal.exact ? decide_exact_ttl(settings, asked) : decide_ttl(settings, asked);
    if (const auto* refused = std::get_if<RefusedTtl>(&decision)) return Rejected{refused->code};
    const GrantedTtl& granted = std::get<GrantedTtl>(decision);
    if (stands_still(*lease, renewal, settings.idle_max(), now)) return Rejected{Code::lease_idle};
    const Duration left = left_of_quota(lease->held_since, settings.hold_max(), now);
    if (left < granted.ttl && (renewal.exact || now + left <= lease->expires_at)) return Rejected{Code::over_quota};
    if (renewal.progress && (!lease->progress || *renewal.progress > lease->progress->count))
        lease->progress = Progress{*renewal.progress, now};
    lease->metered |= settings.hold_max() > Duration::zero();
    lease->ttl = granted.ttl;
    // Never earlier than promised before: the answer may be lost, and the holder relies on the last one it received
    // (T3).
    lease->expires_at = std::max(lease->expires_at, now + std::min(granted.ttl, left));
    Renewed renewed{lease, std::min(granted.ttl, left), std::nullopt};
    if (granted.cut || left < granted.ttl) renewed.cut_from = asked;
    return renewed;
}

namespace {

/// True if the record has anything other than this very lease, or anything newer.
bool knows_better(const Record& record, const Reassertion& reassertion) {
    if (record.last_token > reassertion.token || record.find_ended(reassertion.token) != nullptr) return true;
    return std::any_of(record.leases.begin(), record.leases.end(), [&](const Lease& lease) {
        return lease.token != reassertion.token || lease.holder != reassertion.holder ||
               lease.session != reassertion.session;
    });
}

bool is_free(const Record& record, const Neighbours& neighbours, const Reassertion& reassertion, Instant now) {
    Claim claim;
    claim.holder = reassertion.holder;
    claim.session = reassertion.session;
    return standing_of(record, neighbours, claim, now).free();
}

Lease lease_of(const Reassertion& reassertion, Instant now) {
    Lease lease;
    lease.token = reassertion.token;
    lease.ttl = reassertion.ttl;
    lease.acquired_at = lease.held_since = whole_ms(now);
    lease.holder = reassertion.holder;
    lease.session = reassertion.session;
    lease.reason = reassertion.reason;
    lease.metadata = reassertion.metadata;
    return lease;
}

}  // namespace

RenewVerdict reassert(Record& record, const Neighbours& neighbours, const Reassertion& reassertion,
                      const Policy& policy, Instant now) {
    settle(record, now);
    if (const auto barred = bar_to(policy, reassertion.holder, reassertion.resource)) return Rejected{*barred};
    const auto ttl = decide_exact_ttl(policy.of(reassertion.resource), reassertion.ttl);
    if (const auto* refused = std::get_if<RefusedTtl>(&ttl)) return Rejected{refused->code};
    if (knows_better(record, reassertion) || !is_free(record, neighbours, reassertion, now))
        return Rejected{Code::unknown_lease};
    if (record.leases.empty()) record.leases.push_back(lease_of(reassertion, now));
    Lease& lease = record.leases.front();
    if (!lease.renewable) return Rejected{Code::renewal_barred};
    record.last_token = reassertion.token;
    lease.expires_at = std::max(lease.expires_at, now + reassertion.ttl);
    return Renewed{&lease, lease.ttl, std::nullopt};
}

ReleaseVerdict release(Record& record, Token token, std::string_view holder, Instant now) {
    settle(record, now);
    const Lease* lease = record.find(token);
    if (lease == nullptr) {
        const Reservation* kept = record.find_reserved(token);
        const bool own = kept != nullptr && kept->lease.holder == holder;
        return AlreadyEnded{state_of_ended(record, token, now), own && clear_reserved_for(record, holder, now)};
    }
    if (lease->holder != holder) return Rejected{Code::not_holder};
    record.end(lease->token, Ending::released, now);
    clear_reserved_for(record, holder, now);
    return Released{};
}

std::variant<Lease, Rejected> revoke(Record& record, Token token, Instant now) {
    settle(record, now);
    if (const Reservation* kept = record.find_reserved(token)) {
        Lease revoked = kept->lease;
        clear_reserved(record, now, [&](const Lease& lease) { return lease.token == token; });
        return revoked;
    }
    const Lease* lease = record.find(token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, token, now))};
    Lease revoked = *lease;
    record.end(token, Ending::revoked, now);
    return revoked;
}

std::variant<Lease, Rejected> bar(Record& record, Token token, Instant now) {
    settle(record, now);
    Lease* lease = record.find(token);
    if (lease == nullptr) return Rejected{code_for(state_of_ended(record, token, now))};
    lease->renewable = false;
    return *lease;
}

std::size_t declare_restart(Record& record, std::string_view holder, Instant now) {
    settle(record, now);
    std::size_t marked = 0;
    for (Lease& lease : record.leases) {
        if (lease.holder != holder) continue;
        lease.resumable = true;
        ++marked;
    }
    return marked;
}

Verified verify(const Record& record, Token token, Instant now) {
    Verified verified;
    const auto reserved = [&](const Lease& lease, Instant until) {
        if (now >= until) return;
        if (!lease.active(now) && verified.state != LeaseState::released) verified.state = LeaseState::grace;
        verified.reserved_for = until - now;
        verified.reserved_holder = lease.holder;
    };
    if (const EndedLease* ended = record.find_ended(token); ended != nullptr && now < ended->at + limits::ended_kept) {
        verified.state = state_of(ended->how);
        verified.ended_ago = now - ended->at;
    }
    if (const Reservation* kept = record.find_reserved(token)) reserved(kept->lease, kept->until);
    for (const Lease& lease : record.leases) {
        const bool active = lease.active(now);
        if (active && verified.current.size() < limits::named_per_record) verified.current.push_back(lease);
        if (lease.token != token) continue;
        verified.state = active ? LeaseState::active : LeaseState::expired;
        if (active) {
            verified.lease = lease;
            continue;
        }
        verified.ended_ago = now - lease.expires_at;
        if (lease.resumable) reserved(lease, lease.expires_at + limits::grace);
    }
    return verified;
}

}  // namespace holdfast::lease
