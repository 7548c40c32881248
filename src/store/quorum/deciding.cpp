#include "store/quorum/deciding.h"

#include <algorithm>

#include "base/mutant.h"

namespace holdfast::core {
namespace {

template <class Value>
bool is_in(const std::vector<Value>& values, const Value& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<Token> tokens_of(const Record& record) {
    std::vector<Token> tokens;
    for (const Lease& lease : record.leases)
        tokens.push_back(lease.token);
    return tokens;
}

/// The leases that are still there with another end, as they were; all of them if nothing else can have changed, for a
/// renewal may bring the same end again.
std::vector<Lease> extended_in(const Record& record, const Record& before) {
    const bool only_renewed = record.leases.size() == before.leases.size() &&
                              record.waiters.size() == before.waiters.size() &&
                              record.reserved.size() == before.reserved.size();
    std::vector<Lease> found;
    for (const Lease& was : before.leases) {
        const Lease* const is = record.find(was.token);
        if (is != nullptr && (only_renewed || is->expires_at != was.expires_at)) found.push_back(was);
    }
    return found;
}

std::vector<std::uint64_t> waiters_of(const Record& record) {
    std::vector<std::uint64_t> ids;
    for (const Waiter& waiter : record.waiters)
        ids.push_back(waiter.id);
    return ids;
}

template <class Value>
std::vector<Value> without(const std::vector<Value>& values, const std::vector<Value>& known) {
    std::vector<Value> rest;
    std::copy_if(values.begin(), values.end(), std::back_inserter(rest),
                 [&](const Value& value) { return !is_in(known, value); });
    return rest;
}

/// What happens to a grant when the rule of Q8 is switched off: a lease that its holder seems to have stands for it.
void reuse_echo(Record& record, const std::vector<Token>& added) {
    std::erase_if(record.leases, [&](const Lease& lease) {
        return is_in(added, lease.token) &&
               std::any_of(record.leases.begin(), record.leases.end(), [&](const Lease& echo) {
                   return echo.holder == lease.holder && echo.session == lease.session && !is_in(added, echo.token);
               });
    });
}

Decided apply_once(const std::vector<Pending>& batch, Record& record, const Neighbours& neighbours,
                   const OwnTokens& own, Instant now) {
    const auto tokens = tokens_of(record);
    const auto waiters = waiters_of(record);
    Decided decided;
    for (const Pending& pending : batch) {
        record.last_token = own.before_next(record.last_token);
        decided.changed |= pending.update->apply(record, neighbours, now) != Effect::none;
    }
    if (!decided.changed) return decided;
    decided.added = without(tokens_of(record), tokens);
    decided.enqueued = without(waiters_of(record), waiters);
    return decided;
}

}  // namespace

Decided apply_all(const std::vector<Pending>& batch, Record& record, const Neighbours& neighbours, const OwnTokens& own,
                  Instant now) {
    Record before = record;
    Decided decided = apply_once(batch, record, neighbours, own, now);
    const auto strange = [&](Token token) { return !own.has(token); };
    if (std::any_of(decided.added.begin(), decided.added.end(), strange)) {
        before.last_token = *std::max_element(decided.added.begin(), decided.added.end());
        record = before;
        decided = apply_once(batch, record, neighbours, own, now);
    }
    if (decided.changed) decided.extended = extended_in(record, before);
    if (mutant("echo_reused")) reuse_echo(record, decided.added);
    return decided;
}

bool take_out(Record& record, const std::vector<Token>& tokens) {
    return std::erase_if(record.leases, [&](const Lease& lease) { return is_in(tokens, lease.token); }) > 0;
}

}  // namespace holdfast::core
