#include <gtest/gtest.h>
#include <map>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "lease/rules.h"

namespace holdfast::lease {
namespace {

constexpr Duration grain = 10ms;  ///< every time in here is a multiple of it

/// R6 as it is written: an account of each holder that rises while it has the resource, or has it kept for it, and
/// falls while it has not.
class Accounts {
 public:
    explicit Accounts(Duration hold_max) : hold_max_(hold_max) {}

    void pass(Record& record, Instant& now, Duration by) {
        for (const Instant end = now + by; now < end; now += grain) {
            settle(record, now);
            std::map<std::string, Duration> after;
            const auto holds = [&](const Lease& lease) { after[lease.holder] = of(lease.holder) + grain; };
            for (const Lease& lease : record.leases)
                holds(lease);
            for (const Reservation& kept : record.reserved)
                holds(kept.lease);
            for (const auto& [holder, account] : accounts_)
                if (!after.contains(holder)) after[holder] = std::max(std::min(account, hold_max_) - grain, Duration{});
            accounts_ = std::move(after);
        }
        settle(record, now);
    }

    Duration of(const std::string& holder) const {
        const auto found = accounts_.find(holder);
        return found == accounts_.end() ? Duration::zero() : found->second;
    }
    Duration left(const std::string& holder) const { return std::max(hold_max_ - of(holder), Duration::zero()); }

 private:
    Duration hold_max_;
    std::map<std::string, Duration> accounts_;
};

Duration times(int count) {
    return count * grain;
}

/// One resource, two holders with two sessions each, and everything that may end a lease.
class Play {
 public:
    Play() { policy.hold_max = 5s, policy.ttl_min = 500ms; }

    void step() {
        switch (*rc::gen::inRange(0, 9)) {
            case 0:
            case 1:
            case 2:
                return take();
            case 3:
                return extend();
            case 4:
                if (const Lease* lease = any()) release(record, lease->token, std::string(lease->holder), now);
                return;
            case 5:
                if (const Lease* lease = any()) revoke(record, lease->token, now);
                return;
            case 6:
                declare_restart(record, holder(), now);
                return;
            case 7:
                if (!record.reserved.empty()) {
                    const Lease kept = record.reserved.front().lease;
                    release(record, kept.token, kept.holder, now);
                }
                return;
            default:
                return accounts.pass(record, now, times(*rc::gen::inRange(0, 300)));
        }
    }

    std::size_t cut = 0, refused = 0;

 private:
    std::string holder() { return *rc::gen::element<std::string>("alice", "bob"); }

    const Lease* any() {
        if (record.leases.empty()) return nullptr;
        return &record.leases[*rc::gen::inRange<std::size_t>(0, record.leases.size())];
    }

    void take() {
        const std::string who = holder(), session = *rc::gen::element<std::string>("1", "2");
        Claim claim;
        claim.holder = who;
        claim.session = session;
        claim.predicate = *rc::gen::elementOf(all_predicates);
        claim.ttl = times(*rc::gen::inRange(50, 300));
        claim.hold_max = policy.hold_max;
        claim.ttl_min = policy.ttl_min;
        claim.token = ++last_token;
        const Duration left = accounts.left(who);
        const auto verdict = acquire(record, NoNeighbours{}, claim, now);
        if (std::holds_alternative<Busy>(verdict)) return;
        if (left < policy.ttl_min) {
            ++refused;
            RC_ASSERT(std::holds_alternative<Rejected>(verdict));
            RC_ASSERT(std::get<Rejected>(verdict).code == Code::over_quota);
            return;
        }
        RC_ASSERT(std::holds_alternative<Granted>(verdict));
        const Lease& lease = *std::get<Granted>(verdict).lease;
        RC_ASSERT(lease.ttl == std::min(claim.ttl, left));
        cut += lease.ttl < claim.ttl;
        if (*rc::gen::inRange(0, 5) == 0) roll_back(record, lease.token);  // the rest of a manifest was not free
    }

    void extend() {
        const Lease* lease = any();
        if (lease == nullptr) return;
        const Lease before = *lease;
        const Duration ttl = times(*rc::gen::inRange(50, 300)), left = accounts.left(before.holder);
        const auto verdict = renew(record, {before.token, before.holder, "r", ttl, {}}, policy, now);
        if (left < ttl && now + left <= before.expires_at) {
            ++refused;
            RC_ASSERT(std::get<Rejected>(verdict).code == Code::over_quota);
            return;
        }
        const Instant end = std::max(before.expires_at, now + std::min(ttl, left));
        RC_ASSERT(std::get<Renewed>(verdict).lease->expires_at == end);
    }

    Policy policy;
    Accounts accounts{5s};
    Record record;
    Instant now{1000s};
    Token last_token = 0;
};

RC_GTEST_PROP(Quota, counts_the_time_with_a_resource_against_the_time_without_it_however_it_was_got, ()) {  // R6
    Play play;
    for (int steps = *rc::gen::inRange(20, 120); steps > 0; --steps)
        play.step();
    RC_CLASSIFY(play.cut > 0, "cut");
    RC_CLASSIFY(play.refused > 0, "refused");
}

}  // namespace
}  // namespace holdfast::lease
