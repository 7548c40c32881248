#include <gtest/gtest.h>

#include "lease/rules.h"

namespace holdfast::lease {
namespace {

constexpr Instant start{1000s};

struct Asserting : ::testing::Test {
    static Reassertion word(Token token, const std::string& holder = "d1") {
        return {"KEY:room", token, 60s, holder, "b-" + holder, "key", R"({"tag":"t"})"};
    }
    RenewVerdict say(const Reassertion& reassertion, Instant now = start) {
        return reassert(record, NoNeighbours{}, reassertion, policy, now);
    }
    Code refusal(const Reassertion& reassertion, Instant now = start) {
        return std::get<Rejected>(say(reassertion, now)).code;
    }

    Record record;
    Policy policy;
};

TEST_F(Asserting, brings_a_lease_back_with_its_token_for_a_whole_ttl) {
    const Lease& lease = *std::get<Renewed>(say(word(17))).lease;
    EXPECT_EQ(lease.token, 17U);
    EXPECT_EQ(lease.holder, "d1");
    EXPECT_EQ(lease.session, "b-d1");
    EXPECT_EQ(lease.metadata, R"({"tag":"t"})");
    EXPECT_EQ(lease.expires_at, start + 60s);
    EXPECT_EQ(record.last_token, 17U);
    EXPECT_TRUE(std::holds_alternative<Renewed>(renew(record, {17, "d1", "KEY:room"}, policy, start + 59s)));
}

TEST_F(Asserting, is_the_same_however_often_it_is_said) {
    say(word(17));
    EXPECT_EQ(std::get<Renewed>(say(word(17), start + 5s)).lease->expires_at, start + 65s);
    EXPECT_EQ(record.leases.size(), 1U);
}

TEST_F(Asserting, is_refused_where_another_lease_is) {
    say(word(17));
    EXPECT_EQ(refusal(word(16, "d2")), Code::unknown_lease);
    EXPECT_EQ(refusal(word(18, "d2")), Code::unknown_lease)
        << "also to a newer one: two who say so cannot both be right";
    EXPECT_EQ(refusal(word(18, "d1")), Code::unknown_lease);
    EXPECT_EQ(refusal(word(17, "d2")), Code::unknown_lease);
    EXPECT_EQ(record.leases.size(), 1U);
    EXPECT_EQ(record.leases[0].holder, "d1");
}

TEST_F(Asserting, is_refused_where_a_newer_token_was_seen) {
    record.last_token = 18;
    EXPECT_EQ(refusal(word(17)), Code::unknown_lease);
}

TEST_F(Asserting, does_not_bring_back_what_has_ended_since) {
    say(word(17));
    release(record, 17, "d1", start + 1s);
    EXPECT_EQ(refusal(word(17), start + 2s), Code::unknown_lease);
    say(word(19), start + 3s);
    EXPECT_EQ(refusal(word(19), start + 63s), Code::unknown_lease) << "it has expired (T2)";
}

TEST_F(Asserting, is_refused_where_something_is_reserved) {
    Lease lease;
    lease.token = 3;
    lease.holder = "agent";
    record.reserved.push_back({lease, start + 15s});
    EXPECT_EQ(refusal(word(17)), Code::unknown_lease);
}

TEST_F(Asserting, passes_the_policy) {
    policy.ttl_max = 30s;
    EXPECT_EQ(refusal(word(17)), Code::ttl_too_long) << "its holder would believe in more than it has (T3)";
    policy = {};
    policy.bans["d1"] = {};
    EXPECT_EQ(refusal(word(17)), Code::banned);
    EXPECT_TRUE(record.leases.empty());
}

TEST_F(Asserting, is_refused_once_an_admin_barred_it) {
    say(word(17));
    bar(record, 17, start);
    EXPECT_EQ(refusal(word(17), start + 1s), Code::renewal_barred);
    EXPECT_EQ(record.leases[0].expires_at, start + 60s);
}

}  // namespace
}  // namespace holdfast::lease
