#include "store/cas/decision.h"

#include <algorithm>

#include "store/cas/changes.h"

namespace holdfast::store::cas {
namespace {

/// The number of entries in the record that may block a request.
std::size_t claims_in(const lease::Record& record) {
    return record.leases.size() + record.reserved.size() + record.waiters.size();
}

void note_differences(Decision& decision) {
    const lease::Record& before = decision.before;
    for (const lease::Lease& lease : decision.after.leases) {
        const lease::Lease* was = before.find(lease.token);
        if (was == nullptr)
            decision.added.push_back(lease.token);
        else if (is_renewed(*was, lease))
            decision.extended.push_back(lease.token);
    }
    for (const lease::Waiter& waiter : decision.after.waiters) {
        const auto same = [&](const lease::Waiter& other) { return other.id == waiter.id; };
        if (std::none_of(before.waiters.begin(), before.waiters.end(), same)) decision.enqueued.push_back(waiter.id);
    }
    decision.freed |= frees_something(before, decision.after);
}

/// Tokens that may be lost are not issued again, and those of other records count as well (G3). If no token is issued,
/// the record's last one stays.
void apply_all(const Situation& situation, const std::vector<Pending>& batch, Decision& decision) {
    lease::Record& record = decision.after;
    const lease::Token had = record.last_token;
    record.last_token = std::max(had, situation.last_token);
    for (const LostLease& lost : situation.lost)
        record.last_token = std::max(record.last_token, lost.token);
    for (const Pending& pending : batch) {
        const lease::Token last = record.last_token;
        const Effect effect = pending.update->apply(record, situation.neighbours, situation.moment.here);
        decision.changed |= effect != Effect::none;
        decision.freed |= effect == Effect::freed;
        if (record.last_token > last) decision.granting.push_back(pending.update);
    }
    if (decision.granting.empty()) record.last_token = had;
}

}  // namespace

Decision decide(const Situation& situation, const std::vector<Pending>& batch) {
    const Instant now = situation.moment.here;
    Decision decision;
    decision.window = window_of(situation.base, situation.moment.engine);
    lease::Record& record = decision.after;
    record = record_here(situation.base, situation.moment, situation.rates);
    decision.changed = situation.waiters.lengthen(situation.resource, record, now);
    const std::size_t claims = claims_in(record);
    const bool settled = settle(record, now, [&](const lease::Lease& lease) {
        decision.expired.push_back({lease, now - lease.expires_at});
    });
    decision.freed = claims_in(record) < claims;
    decision.changed |= situation.tidy && settled && (decision.freed || !decision.expired.empty());
    decision.before = record;
    decision.changed |= take_out(record, situation.lost, situation.moment, situation.rates);
    apply_all(situation, batch, decision);
    if (decision.changed) note_differences(decision);
    return decision;
}

}  // namespace holdfast::store::cas
