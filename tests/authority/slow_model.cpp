#include "authority/slow_model.h"

#include <algorithm>

namespace holdfast::core {
namespace {

bool conflict(Predicate a, Predicate b) {
    static const std::set<std::set<Predicate>> may_share{{Predicate::provides, Predicate::consumes},
                                                         {Predicate::provides, Predicate::depends_on},
                                                         {Predicate::consumes},
                                                         {Predicate::consumes, Predicate::depends_on},
                                                         {Predicate::depends_on}};
    return !may_share.contains({a, b});
}

}  // namespace

void SlowModel::expire(Instant now) {
    for (Entry& entry : entries_) {
        if (entry.ended || now < entry.expires_at) continue;
        entry.ended = Ending::expired;
        entry.ended_at = entry.expires_at;
    }
}

SlowModel::Entry* SlowModel::find(const std::string& resource, Token token) {
    for (Entry& entry : entries_)
        if (entry.resource == resource && entry.token == token) return &entry;
    return nullptr;
}

SlowModel::Verdict SlowModel::acquire(const Asked& asked, Instant now) {
    expire(now);
    if (policy.bans.contains(asked.holder)) return {Code::banned, {}};
    if (asked.ttl < policy.ttl_min) return {Code::ttl_too_short, {}};
    Verdict verdict;
    for (const auto& [resource, predicate] : asked.intents)
        for (const Entry& entry : entries_) {
            const bool mine = entry.holder == asked.holder && entry.session == asked.session;
            if (!entry.ended && entry.resource == resource && !mine && conflict(entry.predicate, predicate))
                verdict.in_the_way.insert(entry.token);
        }
    return verdict;
}

void SlowModel::add(const Asked& asked, const std::vector<Token>& tokens, Instant now) {
    const Duration ttl = std::min(asked.ttl, policy.ttl_max);
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
                            {}});
}

LeaseState SlowModel::state(const std::string& resource, Token token, Instant now) {
    expire(now);
    const Entry* entry = find(resource, token);
    if (entry == nullptr) return LeaseState::unknown;
    if (!entry->ended) return LeaseState::active;
    if (now - entry->ended_at >= 5min) return LeaseState::unknown;
    return *entry->ended == Ending::released  ? LeaseState::released
           : *entry->ended == Ending::expired ? LeaseState::expired
                                              : LeaseState::revoked;
}

Code SlowModel::code_for(const std::string& resource, Token token, Instant now) {
    switch (state(resource, token, now)) {
        case LeaseState::released:
            return Code::lease_released;
        case LeaseState::expired:
            return Code::lease_expired;
        case LeaseState::revoked:
            return Code::lease_revoked;
        default:
            return Code::unknown_lease;
    }
}

std::optional<Code> SlowModel::renew(const std::string& resource, Token token, const std::string& holder, Instant now) {
    if (state(resource, token, now) != LeaseState::active) return code_for(resource, token, now);
    Entry* entry = find(resource, token);
    if (entry->holder != holder) return Code::not_holder;
    if (policy.bans.contains(holder)) return Code::banned;
    if (!entry->renewable) return Code::renewal_barred;
    if (entry->ttl < policy.ttl_min) return Code::ttl_too_short;
    entry->ttl = std::min(entry->ttl, policy.ttl_max);
    entry->expires_at = std::max(entry->expires_at, now + entry->ttl);
    return std::nullopt;
}

std::optional<LeaseState> SlowModel::release(const std::string& resource, Token token, const std::string& holder,
                                             Instant now) {
    const LeaseState before = state(resource, token, now);
    if (before != LeaseState::active) return before;
    Entry* entry = find(resource, token);
    if (entry->holder != holder) return std::nullopt;
    entry->ended = Ending::released;
    entry->ended_at = now;
    return LeaseState::released;
}

std::optional<Code> SlowModel::revoke(const std::string& resource, Token token, Instant now) {
    if (state(resource, token, now) != LeaseState::active) return code_for(resource, token, now);
    Entry* entry = find(resource, token);
    entry->ended = Ending::revoked;
    entry->ended_at = now;
    return std::nullopt;
}

std::optional<Code> SlowModel::bar(const std::string& resource, Token token, Instant now) {
    if (state(resource, token, now) != LeaseState::active) return code_for(resource, token, now);
    find(resource, token)->renewable = false;
    return std::nullopt;
}

std::set<Token> SlowModel::current(const std::string& resource, Instant now) {
    expire(now);
    std::set<Token> tokens;
    for (const Entry& entry : entries_)
        if (!entry.ended && entry.resource == resource) tokens.insert(entry.token);
    return tokens;
}

std::set<Token> SlowModel::of_holder(const std::string& holder, Instant now) {
    expire(now);
    std::set<Token> tokens;
    for (const Entry& entry : entries_)
        if (!entry.ended && entry.holder == holder) tokens.insert(entry.token);
    return tokens;
}

}  // namespace holdfast::core
