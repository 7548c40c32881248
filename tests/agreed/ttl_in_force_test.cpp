#include "agreed/ttl_in_force.h"

#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::agreed {
namespace {

using lease::Policy;

Policy with_max(Duration ttl_max) {
    Policy policy;
    policy.ttl_max = ttl_max;
    return policy;
}

/// A server's own disk, and the policy that the servers agreed on.
struct Fixture {
    explicit Fixture(Duration stored, Policy policy = {})
        : agreed(std::move(policy)), ttl({local, stored, agreed.longest_ttl(), [this](const Result<void>& written) {
                                              ++answers;
                                              failed = !written;
                                          }}) {
        local.hold = true;
    }
    void agree(Policy policy) {
        agreed = std::move(policy);
        ttl.agree(agreed.longest_ttl());
    }
    Policy in_force() const {
        Policy policy = agreed;
        ttl.limit(policy);
        return policy;
    }

    authority::TestLocalDurable local;
    int answers = 0;
    bool failed = false;
    Policy agreed;
    TtlInForce ttl;
};

TEST(TtlInForce, has_a_longer_maximum_in_force_only_once_the_local_state_has_it) {  // S1
    Fixture node(5min);
    Policy raised = with_max(1h);
    raised.ttl_default = 10min;
    raised.bans["mallory"] = {};
    node.agree(raised);
    EXPECT_EQ(node.in_force().ttl_max, 5min);
    EXPECT_EQ(node.in_force().ttl_default, 5min);
    EXPECT_TRUE(node.in_force().check());
    EXPECT_TRUE(node.in_force().bans.contains("mallory")) << "a ban waits for no disk";
    EXPECT_FALSE(node.ttl.complete());
    node.local.answer_one();
    EXPECT_EQ(node.in_force().ttl_max, 1h);
    EXPECT_EQ(node.in_force().ttl_default, 10min);
    EXPECT_TRUE(node.ttl.complete());
}

TEST(TtlInForce, keeps_a_namespace_to_what_the_local_state_has) {  // S1, R7
    Fixture node(5min);
    Policy raised = with_max(5min);
    raised.namespaces["batch"].ttl_max = 2h;
    node.agree(raised);
    EXPECT_EQ(node.in_force().of("@batch/a").ttl_max(), 5min);
    EXPECT_EQ(node.local.saved, Duration{2h}) << "a start after a crash waits for it";
    node.local.answer_one();
    EXPECT_EQ(node.in_force().of("@batch/a").ttl_max(), 2h);
    EXPECT_EQ(node.in_force().of("a").ttl_max(), 5min);
}

TEST(TtlInForce, has_a_shorter_maximum_in_force_at_once_and_no_longer_one_until_it_is_told_again) {
    Fixture node(5min);
    node.agree(with_max(2min));
    EXPECT_EQ(node.in_force().ttl_max, 2min);
    // The first may make the bound on disk come down before the second raises it.
    node.agree(with_max(5min));
    EXPECT_EQ(node.in_force().ttl_max, 2min);
    EXPECT_EQ(node.local.held.size(), 1U) << "one at a time";
    node.local.answer_one();
    EXPECT_EQ(node.in_force().ttl_max, 2min);
    node.local.answer_one();
    EXPECT_EQ(node.in_force().ttl_max, 5min);
}

TEST(TtlInForce, asks_nothing_of_the_disk_if_the_maximum_stays) {
    Fixture node(5min);
    Policy banning = with_max(5min);
    banning.bans["mallory"] = {};
    node.agree(banning);
    EXPECT_TRUE(node.local.held.empty());
    EXPECT_TRUE(node.ttl.complete());
    EXPECT_TRUE(node.in_force().bans.contains("mallory"));
}

TEST(TtlInForce, tells_the_local_state_again_after_a_failure_but_not_at_once) {
    Fixture node(5min);
    node.ttl.advance(Instant{10s});
    node.agree(with_max(1h));
    node.local.outcome = Error{Code::storage_failed, "disk full"};
    node.local.answer_one();
    EXPECT_TRUE(node.failed);
    EXPECT_TRUE(node.local.held.empty());
    EXPECT_EQ(node.ttl.next_due(), Instant{11s});
    node.ttl.advance(Instant{11s});
    node.local.outcome = {};
    node.local.answer_one();
    EXPECT_TRUE(node.ttl.complete());
    EXPECT_EQ(node.ttl.next_due(), Instant::max());
}

TEST(TtlInForce, begins_with_no_longer_maximum_than_the_local_state_has) {
    Fixture node(5min, with_max(1h));
    EXPECT_EQ(node.in_force().ttl_max, 5min);
    node.ttl.advance(Instant{1s});
    node.local.answer_one();
    EXPECT_EQ(node.in_force().ttl_max, 1h);
    EXPECT_EQ(node.answers, 1);
}

}  // namespace
}  // namespace holdfast::agreed
