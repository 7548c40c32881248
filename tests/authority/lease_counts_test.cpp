#include "authority/lease_counts.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "authority/desk.h"
#include "support/passing_store.h"

namespace holdfast::authority {
namespace {

/// Notes how often all leases of a holder are counted.
class CountingStore final : public PassingStore {
 public:
    using PassingStore::PassingStore;

    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<lease::LeaseName>>> reply) override {
        counts += most == SIZE_MAX ? 1 : 0;
        PassingStore::leases_of(holder, which, most, std::move(reply));
    }

    int counts = 0;
};

lease::Policy with_limit(std::size_t most) {
    lease::Policy policy;
    policy.leases_per_holder_max = most;
    return policy;
}

struct LimitedDesk : Desk {
    explicit LimitedDesk(lease::Policy policy) : Desk(std::move(policy)) { authority.use(counting); }

    std::optional<Code> take(const std::string& holder, const std::string& resource) {
        std::optional<Code> refused;
        authority.single_record().acquire(resource, holder, lease::Predicate::mutates, 60s,
                                          [&](const SingleRecordAnswer& answer) { refused = answer.refused; });
        return refused;
    }

    CountingStore counting{store};
};

TEST(LeaseCounts, are_made_once_however_many_leases_a_holder_takes) {
    LimitedDesk desk(with_limit(1000));
    for (int i = 0; i < 500; ++i) {
        EXPECT_NE(desk.lock("ann", "a" + std::to_string(i)), 0U);
        EXPECT_EQ(desk.take("ann", "b" + std::to_string(i)), std::nullopt);
        desk.pass(1ms);
    }
    EXPECT_EQ(desk.counting.counts, 1);
    EXPECT_EQ(desk.take("ann", "c"), Code::over_quota);
    EXPECT_EQ(desk.lock("ann", "d"), 0U);
    EXPECT_LE(desk.counting.counts, 2);
}

TEST(LeaseCounts, are_kept_while_a_holder_at_its_limit_gives_one_back_for_another) {
    LimitedDesk desk(with_limit(100));
    lease::Token last = 0;
    for (int i = 0; i < 100; ++i)
        last = desk.lock("ann", "r" + std::to_string(i));
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(desk.take("ann", "more"), Code::over_quota);
        EXPECT_TRUE(desk.unlock("ann", "r99", last));
        last = desk.lock("ann", "r99");
        EXPECT_NE(last, 0U);
    }
    EXPECT_LE(desk.counting.counts, 2);
}

TEST(LeaseCounts, of_a_holder_at_its_limit_take_a_hundredth_of_the_time) {
    LimitedDesk desk(with_limit(100));
    for (int i = 0; i < 100; ++i)
        desk.lock("ann", "r" + std::to_string(i));
    desk.counting.counts = 0;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(desk.take("ann", "more"), Code::over_quota);
        desk.pass(100us);
    }
    EXPECT_GT(desk.counting.counts, 10);
    EXPECT_LE(desk.counting.counts, 100) << "a count of a hundred leases is good for a millisecond";
}

TEST(LeaseCounts, are_never_older_than_that_where_other_nodes_grant_leases) {
    TestDurable durable;
    Authority authority(
        {.durable = durable, .policy = with_limit(10), .wall_ms = 1000, .teller = Events::Teller::store});
    store::memory::MemoryStore store(authority.listener(), {1, 2});
    CountingStore counting(store);
    authority.use(counting);
    int granted = 0;
    for (int i = 0; i < 10; ++i) {
        authority.advance(Instant{1000s} + i * 1ms);
        store.advance(Instant{1000s} + i * 1ms);
        authority.single_record().acquire("r" + std::to_string(i), "ann", lease::Predicate::mutates, 60s,
                                          [&](const SingleRecordAnswer& answer) { granted += answer.has_lease; });
    }
    EXPECT_EQ(granted, 10);
    EXPECT_EQ(counting.counts, 10);
}

TEST(LeaseCounts, change_with_the_policy) {
    LimitedDesk desk(with_limit(2));
    EXPECT_NE(desk.lock("ann", "a"), 0U);
    EXPECT_NE(desk.lock("ann", "@team/b"), 0U);
    EXPECT_EQ(desk.lock("ann", "c"), 0U);
    PolicyChange change;
    change.name_space = "team";
    change.leases_per_holder_max = 5;
    desk.authority.change_policy(change, [](const Answer<lease::Policy>& answer) {
        EXPECT_TRUE(std::holds_alternative<lease::Policy>(answer));
    });
    EXPECT_NE(desk.lock("ann", "c"), 0U) << "those of the team are counted apart now";
    EXPECT_EQ(desk.lock("ann", "d"), 0U);
}

/// Random requests of a few holders, one of them an agent that restarts, under limits that they often reach.
class QuotaHistory {
 public:
    explicit QuotaHistory(unsigned seed) : random_(seed) { desk_.agent("h0", 1, epoch_); }

    void step() {
        switch (below(12)) {
            case 0:
                return desk_.pass(std::chrono::milliseconds{below(20'000)});
            case 1:
            case 2:
                return release();
            case 3:
                return revoke();
            case 4:
                return set_limit();
            case 5:
                return restart();
            case 6:
            case 7:
                return acquire_one(below(2) == 0);
            default:
                return acquire_many();
        }
    }

    int over = 0, granted = 0;

 private:
    std::size_t below(std::size_t bound) { return random_() % bound; }
    std::string any_holder() { return "h" + std::to_string(below(3)); }
    std::string any_resource() {
        const std::string name = std::to_string(below(12));
        return below(3) == 0 ? "@team/" + name : name;
    }

    /// What the holder has by the store, and would have with these.
    bool exceeds(const std::string& holder, const std::vector<lease::Intent>& more) {
        const lease::Policy& policy = desk_.authority.policy();
        std::map<std::string, std::size_t> counts;
        desk_.store.leases_of(holder, store::Store::Which::active, SIZE_MAX,
                              [&](const Result<std::vector<lease::LeaseName>>& held) {
                                  for (const lease::LeaseName& name : *held)
                                      ++counts[std::string(policy.quota_scope(name.resource))];
                              });
        for (const lease::Intent& intent : more)
            ++counts[std::string(policy.quota_scope(intent.resource))];
        return std::any_of(more.begin(), more.end(), [&](const lease::Intent& intent) {
            return counts[std::string(policy.quota_scope(intent.resource))] >
                   policy.of(intent.resource).leases_per_holder_max();
        });
    }

    void judge(std::optional<Code> refused, bool exceeds) {
        if (refused == Code::agent_restarting || refused == Code::invalid_argument) return;
        ASSERT_EQ(refused == Code::over_quota, exceeds);
        over += exceeds ? 1 : 0;
    }

    void acquire_many() {
        AcquireRequest request = Desk::request(any_holder(), {});
        if (request.holder == "h0") request.epoch = epoch_;
        for (std::size_t i = 0; i <= below(3); ++i) {
            const std::string resource = any_resource();
            const auto same = [&](const lease::Intent& intent) { return intent.resource == resource; };
            if (std::none_of(request.intents.begin(), request.intents.end(), same))
                request.intents.push_back(
                    {resource, below(2) == 0 ? lease::Predicate::mutates : lease::Predicate::consumes});
        }
        request.ttl = std::chrono::seconds{5 + below(20)};
        const bool expected = exceeds(request.holder, request.intents);
        const auto answer = desk_.ask(request);
        const auto* grant = std::get_if<AcquireGranted>(&*answer);
        judge(grant != nullptr ? std::nullopt : std::optional(code_of(*answer)), expected);
        if (grant == nullptr) return;
        granted += 1;
        for (const HeldLease& held : grant->leases)
            taken_.push_back({request.holder, {held.resource, held.lease.token}});
    }

    void acquire_one(bool replace) {
        const std::string holder = any_holder(), resource = any_resource();
        const bool expected = exceeds(holder, {{resource}});
        const auto rule = [replace](RecordTransaction& at) {
            if (replace)
                at.replace(lease::Predicate::mutates, 10s);
            else
                at.acquire(lease::Predicate::consumes, 10s);
        };
        desk_.authority.single_record().update({.resource = resource, .holder = holder, .takes = true}, rule,
                                               [&](const SingleRecordAnswer& answer) {
                                                   judge(answer.refused, expected);
                                                   if (!answer.has_lease) return;
                                                   granted += 1;
                                                   taken_.push_back({holder, {resource, answer.lease.token}});
                                               });
    }

    void release() {
        if (taken_.empty()) return;
        const auto& [holder, name] = taken_[below(taken_.size())];
        desk_.unlock(holder, name.resource, name.token);
    }
    void revoke() {
        if (taken_.empty()) return;
        desk_.authority.revoke(taken_[below(taken_.size())].second, [](const Answer<lease::Lease>&) {});
    }
    void set_limit() {
        PolicyChange change;
        change.name_space = below(2) == 0 ? "team" : std::string(lease::default_namespace);
        change.leases_per_holder_max = 2 + below(4);
        desk_.authority.change_policy(change, [](const Answer<lease::Policy>&) {});
    }
    void restart() {
        if (below(2) == 0)
            desk_.restarting("h0", epoch_);
        else
            desk_.agent("h0", 1, ++epoch_);
    }

    std::mt19937 random_;
    Desk desk_{with_limit(4)};
    std::uint64_t epoch_ = 1;
    std::vector<std::pair<std::string, lease::LeaseName>> taken_;
};

TEST(LeaseCounts, agree_with_the_store_whatever_happens_to_the_leases) {  // R6
    int over = 0, granted = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        QuotaHistory history(seed);
        for (int i = 0; i < 400; ++i) {
            history.step();
            ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
        }
        over += history.over;
        granted += history.granted;
    }
    EXPECT_GT(over, 500);
    EXPECT_GT(granted, 2000);
}

}  // namespace
}  // namespace holdfast::authority
