#include <holdfast/local.h>

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

TEST(Local, grants_with_a_rising_token_and_releases_at_the_end_of_the_scope) {
    Local local;
    Client client = local.client("alice");
    std::uint64_t first = 0;
    {
        auto acquired = client.acquire("db");
        ASSERT_TRUE(acquired) << acquired.failure().message;
        EXPECT_TRUE(acquired.lease().held());
        EXPECT_EQ(acquired.lease().state(), Outcome::granted);
        EXPECT_EQ(acquired.lease().grants().front().resource, "db");
        first = acquired.lease().token();
        EXPECT_EQ(acquired.lease().grants().front().id, "db#" + std::to_string(first));
    }
    auto again = client.acquire("db");
    ASSERT_TRUE(again);
    EXPECT_GT(again.lease().token(), first);
}

TEST(Local, says_who_stands_in_the_way) {
    Local local;
    auto held = local.client("alice").acquire("db", {.reason = "migrating"});
    ASSERT_TRUE(held);
    const auto refused = local.client("bob").acquire("db");
    EXPECT_EQ(refused.outcome(), Outcome::busy);
    EXPECT_EQ(refused.failure().code, "busy");
    ASSERT_EQ(refused.failure().conflicts.size(), 1U);
    EXPECT_EQ(refused.failure().conflicts[0].holder, "alice");
    EXPECT_EQ(refused.failure().conflicts[0].reason, "migrating");
    EXPECT_GT(*refused.failure().retry_in, 1s);
}

TEST(Local, two_acquires_of_one_holder_exclude_each_other_unless_they_share_a_session) {
    Local local;
    Client client = local.client("alice");
    auto held = client.acquire("db", {.session = "s"});
    ASSERT_TRUE(held);
    EXPECT_EQ(client.acquire("db").outcome(), Outcome::busy);
    EXPECT_TRUE(client.acquire("db", {.session = "s"}));
}

TEST(Local, lets_one_thread_in_at_a_time) {
    Local local;
    std::atomic<int> inside = 0;
    std::atomic<int> violations = 0;
    std::atomic<std::uint64_t> last_token = 0;
    std::vector<std::thread> threads;
    int entries = 0;  // guarded by the lease alone
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            Client client = local.client();
            for (int round = 0; round < 50; ++round) {
                auto acquired = client.acquire("db", {.wait = 60s});
                ASSERT_TRUE(acquired) << acquired.failure().message;
                if (++inside != 1 || last_token.exchange(acquired.lease().token()) >= acquired.lease().token())
                    ++violations;
                ++entries;
                --inside;
                acquired.lease().release();
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(violations, 0);
    EXPECT_EQ(entries, 200);
}

TEST(Local, a_waiter_gets_its_turn_when_the_holder_releases) {
    Local local;
    auto held = local.client("alice").acquire("db");
    ASSERT_TRUE(held);
    std::atomic<bool> waiting = false;
    std::thread waiter([&] {
        waiting = true;
        EXPECT_TRUE(local.client("bob").acquire("db", {.wait = 60s}));
    });
    ASSERT_TRUE(eventually([&] { return waiting.load(); }));
    EXPECT_TRUE(held.lease().release());
    waiter.join();
}

TEST(Local, a_waiter_gets_its_turn_when_the_lease_runs_out) {
    Local local;
    auto held = local.client("alice").acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(held);
    auto next = local.client("bob").acquire("db", {.wait = 60s});
    ASSERT_TRUE(next) << next.failure().message;
    EXPECT_FALSE(held.lease().held());
    EXPECT_GT(next.lease().token(), held.lease().token());
}

TEST(Local, a_wait_ends_when_its_time_is_up) {
    Local local;
    auto held = local.client("alice").acquire("db");
    const auto refused = local.client("bob").acquire("db", {.wait = 50ms});
    EXPECT_EQ(refused.outcome(), Outcome::busy);
}

TEST(Local, a_lease_that_is_not_kept_is_lost_at_its_deadline) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(acquired);
    std::atomic<int> lost = 0;
    acquired.lease().on_lost([&](const Failure& failure) {
        EXPECT_EQ(failure.code, "lease_expired");
        ++lost;
    });
    ASSERT_TRUE(eventually([&] { return lost > 0; }));
    EXPECT_FALSE(acquired.lease().held());
    EXPECT_EQ(acquired.lease().remaining(), 0ns);
    bool called_at_once = false;
    acquired.lease().on_lost([&](const Failure&) { called_at_once = true; });
    EXPECT_TRUE(called_at_once);
    EXPECT_EQ(lost, 1);
}

TEST(Local, a_kept_lease_outlives_its_ttl) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 3s});
    ASSERT_TRUE(acquired);
    std::atomic<int> renewals = 0;
    acquired.lease().on_change([&](Outcome outcome) { renewals += outcome == Outcome::granted; });
    ASSERT_TRUE(eventually([&] { return renewals >= 4; }));
    EXPECT_TRUE(acquired.lease().held());
}

TEST(Local, a_manifest_is_granted_whole_or_not_at_all) {
    Local local;
    Client alice = local.client("alice");
    auto held = alice.acquire("b");
    ASSERT_TRUE(held);
    Client bob = local.client("bob");
    EXPECT_EQ(bob.acquire({{"a"}, {"b"}}).outcome(), Outcome::busy);
    EXPECT_TRUE(alice.acquire("a")) << "nothing of bob's manifest may have been left behind";
    held.lease().release();
    auto both = bob.acquire({{"a", "CONSUMES"}, {"b", "PROVIDES"}});
    ASSERT_TRUE(both);
    ASSERT_EQ(both.lease().grants().size(), 2U);
    EXPECT_EQ(both.lease().grants()[0].predicate, "CONSUMES");
    EXPECT_TRUE(alice.acquire({{"a", "CONSUMES"}}));
}

TEST(Local, namespaces_are_apart) {
    Local local;
    Client client = local.client();
    auto one = client.acquire("db", {.name_space = "red"});
    auto other = client.acquire("db", {.name_space = "blue"});
    ASSERT_TRUE(one);
    ASSERT_TRUE(other);
    EXPECT_EQ(one.lease().grants()[0].resource, "db");
    EXPECT_EQ(one.lease().grants()[0].id, "@red/db#" + std::to_string(one.lease().token()));
}

TEST(Local, refuses_what_makes_no_sense) {
    Local local;
    Client client = local.client();
    const auto code = [&](std::vector<Intent> intents, const AcquireOptions& options = {}) {
        const auto acquired = client.acquire(std::move(intents), options);
        EXPECT_EQ(acquired.outcome(), Outcome::refused);
        return acquired ? "" : acquired.failure().code;
    };
    EXPECT_EQ(code({}), "invalid_argument");
    EXPECT_EQ(code({{""}}), "invalid_argument");
    EXPECT_EQ(code({{"a", "EATS"}}), "invalid_argument");
    EXPECT_EQ(code({{std::string(5000, 'x')}}), "invalid_argument");
    EXPECT_EQ(code({{"a"}}, {.metadata = "[]"}), "invalid_argument");
    EXPECT_EQ(code({{"a"}}, {.name_space = "no spaces"}), "invalid_argument");
    EXPECT_EQ(code({{"a"}}, {.ttl = 1ms}), "ttl_too_short");
}

TEST(Local, lives_as_long_as_a_lease_of_it_does) {
    Lease lease;
    {
        Local local;
        auto acquired = local.client().acquire("db", {.ttl = 3s});
        ASSERT_TRUE(acquired);
        lease = std::move(acquired.lease());
    }
    std::atomic<int> renewals = 0;
    lease.on_change([&](Outcome) { ++renewals; });
    EXPECT_TRUE(eventually([&] { return renewals >= 2; }));
    EXPECT_TRUE(lease.held());
    EXPECT_TRUE(lease.release());
}

}  // namespace
}  // namespace holdfast::client
