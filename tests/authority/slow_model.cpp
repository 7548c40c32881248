#include "authority/slow_model.h"

#include <algorithm>

#include "lease/resource.h"

namespace holdfast::authority {
namespace {

bool conflict(lease::Predicate a, lease::Predicate b) {
    static const std::set<std::set<lease::Predicate>> may_share{
        {lease::Predicate::provides, lease::Predicate::consumes},
        {lease::Predicate::provides, lease::Predicate::depends_on},
        {lease::Predicate::consumes},
        {lease::Predicate::consumes, lease::Predicate::depends_on},
        {lease::Predicate::depends_on}};
    return !may_share.contains({a, b});
}

bool same_or_overlapping(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const auto path_a = lease::file_path(a);
    const auto path_b = lease::file_path(b);
    return path_a && path_b && overlap(*path_a, *path_b);
}

}  // namespace

void SlowModel::expire(Instant now) {
    for (Entry& entry : entries_) {
        if (entry.ended || now < entry.expires_at) continue;
        entry.ended = lease::Ending::expired;
        entry.ended_at = entry.expires_at;
        if (entry.resumable) entry.reserved_until = entry.expires_at + 15s;
    }
}

SlowModel::Entry* SlowModel::find(const std::string& resource, lease::Token token) {
    for (Entry& entry : entries_)
        if (entry.resource == resource && entry.token == token) return &entry;
    return nullptr;
}

bool SlowModel::in_the_way(const Entry& entry, const Asked& asked, const std::string& resource,
                           lease::Predicate predicate, Instant now) const {
    const bool reserved = entry.reserved_until && now < *entry.reserved_until;
    if (entry.ended && !reserved) return false;
    if (!same_or_overlapping(entry.resource, resource) || !conflict(entry.predicate, predicate)) return false;
    if (entry.holder != asked.holder) return true;
    return !entry.resumable && entry.session != asked.session;
}

SlowModel::Verdict SlowModel::acquire(const Asked& asked, Instant now) {
    expire(now);
    const auto agent = agents.find(asked.holder);
    if (agent != agents.end()) {
        if (asked.epoch && *asked.epoch < agent->second.epoch) return {Code::stale_epoch, {}};
        if (asked.epoch && *asked.epoch > agent->second.epoch)
            agent->second = {agent->second.priority, *asked.epoch, false};
        if (agent->second.restarting) return {Code::agent_restarting, {}};
    }
    if (policy.bans.contains(asked.holder)) return {Code::banned, {}};
    if (asked.ttl < policy.ttl_min) return {Code::ttl_too_short, {}};
    Verdict verdict;
    for (const auto& [resource, predicate] : asked.intents)
        for (const Entry& entry : entries_) {
            if (!in_the_way(entry, asked, resource, predicate, now)) continue;
            verdict.in_the_way.insert(entry.token);
            const auto other = agents.find(entry.holder);
            if (agent == agents.end() || other == agents.end()) continue;
            verdict.die |=
                std::pair(other->second.priority, other->first) <= std::pair(agent->second.priority, agent->first);
        }
    return verdict;
}

void SlowModel::free_reserved(const std::string& resource, const std::string& holder) {
    for (Entry& entry : entries_)
        if (entry.resource == resource && entry.holder == holder) entry.reserved_until.reset();
}

std::size_t SlowModel::declare_restart(const std::string& agent, Instant now) {
    expire(now);
    agents.at(agent).restarting = true;
    std::size_t marked = 0;
    for (Entry& entry : entries_) {
        if (entry.ended || entry.holder != agent) continue;
        entry.resumable = true;
        ++marked;
    }
    return marked;
}

void SlowModel::add(const Asked& asked, const std::vector<lease::Token>& tokens, Instant now) {
    const Duration ttl = std::min(asked.ttl, policy.ttl_max);
    for (const auto& [resource, predicate] : asked.intents)
        for (Entry& entry : entries_) {
            if (entry.ended || !entry.resumable || entry.holder != asked.holder || entry.resource != resource) continue;
            entry.ended = lease::Ending::released;
            entry.ended_at = now;
            entry.reserved_until = entry.expires_at + 15s;
        }
    for (std::size_t i = 0; i < tokens.size(); ++i)
        entries_.push_back({asked.intents[i].first,
                            asked.holder,
                            asked.session,
                            asked.intents[i].second,
                            tokens[i],
                            now + ttl,
                            ttl,
                            true,
                            std::nullopt,
                            {},
                            false,
                            std::nullopt});
}

lease::LeaseState SlowModel::state(const std::string& resource, lease::Token token, Instant now) {
    expire(now);
    const Entry* entry = find(resource, token);
    if (entry == nullptr) return lease::LeaseState::unknown;
    if (!entry->ended) return lease::LeaseState::active;
    // How a lease ended is forgotten after five minutes; that it is kept for its agent past its expiry is not (R5).
    const bool forgotten = now - entry->ended_at >= 5min;
    const bool kept = entry->reserved_until && now < *entry->reserved_until && now >= entry->expires_at;
    if (kept && (forgotten || *entry->ended == lease::Ending::expired)) return lease::LeaseState::grace;
    if (forgotten) return lease::LeaseState::unknown;
    return *entry->ended == lease::Ending::released  ? lease::LeaseState::released
           : *entry->ended == lease::Ending::expired ? lease::LeaseState::expired
                                                     : lease::LeaseState::revoked;
}

Code SlowModel::code_for(const std::string& resource, lease::Token token, Instant now) {
    switch (state(resource, token, now)) {
        case lease::LeaseState::released:
            return Code::lease_released;
        case lease::LeaseState::expired:
        case lease::LeaseState::grace:
            return Code::lease_expired;
        case lease::LeaseState::revoked:
            return Code::lease_revoked;
        default:
            return Code::unknown_lease;
    }
}

std::optional<Code> SlowModel::renew(const std::string& resource, lease::Token token, const std::string& holder,
                                     Instant now) {
    if (state(resource, token, now) != lease::LeaseState::active) return code_for(resource, token, now);
    Entry* entry = find(resource, token);
    if (entry->holder != holder) return Code::not_holder;
    if (policy.bans.contains(holder)) return Code::banned;
    if (!entry->renewable) return Code::renewal_barred;
    if (entry->ttl < policy.ttl_min) return Code::ttl_too_short;
    entry->ttl = std::min(entry->ttl, policy.ttl_max);
    entry->expires_at = std::max(entry->expires_at, now + entry->ttl);
    return std::nullopt;
}

std::optional<lease::LeaseState> SlowModel::release(const std::string& resource, lease::Token token,
                                                    const std::string& holder, Instant now) {
    const lease::LeaseState before = state(resource, token, now);
    Entry* entry = find(resource, token);
    const bool own = entry != nullptr && entry->holder == holder;
    if (before != lease::LeaseState::active) {
        const bool reserved = entry != nullptr && entry->reserved_until && now < *entry->reserved_until;
        if (own && reserved) free_reserved(resource, holder);
        return before == lease::LeaseState::grace ? lease::LeaseState::expired : before;
    }
    if (!own) return std::nullopt;
    entry->ended = lease::Ending::released;
    entry->ended_at = now;
    free_reserved(resource, holder);
    return lease::LeaseState::released;
}

std::optional<Code> SlowModel::revoke(const std::string& resource, lease::Token token, Instant now) {
    expire(now);
    Entry* entry = find(resource, token);
    if (entry != nullptr && entry->reserved_until && now < *entry->reserved_until) {
        entry->reserved_until.reset();
        return std::nullopt;
    }
    if (state(resource, token, now) != lease::LeaseState::active) return code_for(resource, token, now);
    entry->ended = lease::Ending::revoked;
    entry->ended_at = now;
    return std::nullopt;
}

std::optional<Code> SlowModel::bar(const std::string& resource, lease::Token token, Instant now) {
    if (state(resource, token, now) != lease::LeaseState::active) return code_for(resource, token, now);
    find(resource, token)->renewable = false;
    return std::nullopt;
}

std::set<lease::Token> SlowModel::current(const std::string& resource, Instant now) {
    expire(now);
    std::set<lease::Token> tokens;
    for (const Entry& entry : entries_)
        if (!entry.ended && entry.resource == resource) tokens.insert(entry.token);
    return tokens;
}

std::set<lease::Token> SlowModel::of_holder(const std::string& holder, Instant now) {
    expire(now);
    std::set<lease::Token> tokens;
    for (const Entry& entry : entries_)
        if (!entry.ended && entry.holder == holder) tokens.insert(entry.token);
    return tokens;
}

}  // namespace holdfast::authority
