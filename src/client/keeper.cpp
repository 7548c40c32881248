#include "client/keeper.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/code.h"

namespace holdfast::client {

namespace {

/// Renewals due within this time are sent with one that is due now: one message instead of many.
constexpr Duration company = 50ms;
constexpr Duration renewal_pause_min = 20ms;
constexpr Duration max_renewal_pause = 2s;

}  // namespace

bool means_lost(const ErrorCode& code) {
    static constexpr std::array<Code, 7> codes{Code::lease_expired, Code::lease_released, Code::lease_revoked,
                                               Code::unknown_lease, Code::not_holder,     Code::banned,
                                               Code::stale_epoch};
    return code.known() && std::ranges::find(codes, *code.known()) != codes.end();
}

void Keeper::add(const Kept& lease, HolderInstant now) {
    Entry entry{.deadlines = lease.deadlines, .renew = lease.renew};
    spread(entry, now);
    const auto [place, is_new] = leases_.emplace(lease.key, entry);
    HOLDFAST_ASSERT(is_new);
    schedule(lease.key, place->second);
}

void Keeper::remove(Key key) {
    const auto found = leases_.find(key);
    if (found != leases_.end()) forget(key, found->second);
}

std::vector<Keeper::Key> Keeper::take_due(HolderInstant now) {
    std::vector<Key> due;
    if (next() > now) return due;
    for (const auto& [wake_at, key] : agenda_) {
        if (wake_at > now + company) break;
        const Entry& entry = leases_.at(key);
        if (entry.renew && !entry.under_way && entry.deadlines.held(now)) due.push_back(key);
    }
    for (const Key key : due) {
        Entry& entry = leases_.at(key);
        entry.under_way = true;
        schedule(key, entry);
    }
    return due;
}

Outcome Keeper::answer(Key key, const RenewalAnswer& answer, HolderInstant now) {
    const auto found = leases_.find(key);
    if (found == leases_.end()) return Outcome::lost;
    Entry& entry = found->second;
    entry.under_way = false;
    const auto* granted = std::get_if<RenewalGranted>(&answer);
    const auto* rejected = std::get_if<RenewalRejected>(&answer);
    const bool in_time = granted ? entry.deadlines.on_answer(granted->deadlines, now) : entry.deadlines.held(now);
    if (!in_time || (rejected && means_lost(rejected->code))) {
        forget(key, entry);
        return Outcome::lost;
    }
    if (granted) {
        entry.failures = 0;
        spread(entry, now);
    } else {
        if (rejected && rejected->code == Code::renewal_barred) entry.renew = false;
        entry.deadlines.on_failure(next_try(entry, now));
        ++entry.failures;
    }
    schedule(key, entry);
    return granted ? Outcome::granted : Outcome::uncertain;
}

std::vector<Keeper::Key> Keeper::take_ended(HolderInstant now) {
    std::vector<Key> ended;
    for (const auto& [wake_at, key] : agenda_) {
        if (wake_at > now) break;
        if (!leases_.at(key).deadlines.held(now)) ended.push_back(key);
    }
    for (const Key key : ended)
        forget(key, leases_.at(key));
    return ended;
}

void Keeper::schedule(Key key, Entry& entry) {
    agenda_.erase({entry.wake_at, key});
    const bool renews = entry.renew && !entry.under_way;
    const HolderInstant end = entry.deadlines.end();
    entry.wake_at = renews ? std::min(entry.deadlines.renew_at(), end) : end;
    agenda_.insert({entry.wake_at, key});
}

void Keeper::forget(Key key, const Entry& entry) {
    agenda_.erase({entry.wake_at, key});
    leases_.erase(key);
}

/// Up to a fifth sooner than it is due, so that holders that started together do not renew together.
void Keeper::spread(Entry& entry, HolderInstant now) {
    entry.deadlines.hasten(random_.unit() / 5, now);
}

/// The backoff doubles after each failure, but always leaves time for more retries before the deadline.
HolderInstant Keeper::next_try(const Entry& entry, HolderInstant now) {
    const Duration left = entry.deadlines.end() - now;
    const Duration doubled = renewal_pause_min * (1 << std::min(entry.failures, 8U));
    const Duration pause = std::max(std::min({doubled, max_renewal_pause, left / 8}), renewal_pause_min);
    return now + std::chrono::duration_cast<Duration>(pause * (0.5 + random_.unit() / 2));
}

}  // namespace holdfast::client
