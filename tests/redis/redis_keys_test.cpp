#include "redis/redis_keys.h"

#include <gtest/gtest.h>

#include "redis/keys_desk.h"

namespace holdfast::redis {
namespace {

using When = SetTerms::When;
using Strings = std::vector<std::string>;

// ---- SET ----

TEST(RedisKeys, are_leases_with_tokens_and_events_in_lists) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 30s));
    const lease::Lease first = desk.lease_on("k");
    EXPECT_EQ(first.holder, "a");
    EXPECT_EQ(first.predicate, lease::Predicate::mutates);
    EXPECT_EQ(first.ttl, Duration{30s});
    EXPECT_EQ(desk.outcome("k", "a", &remove_if_equal), KeyOutcome::done);
    ASSERT_TRUE(desk.set_nx("k", "b", 30s));
    EXPECT_GT(desk.lease_on("k").token, first.token);
    EXPECT_EQ(desk.happened, (Strings{"granted a", "released a", "granted b"}));
}

TEST(RedisKeys, with_nx_are_not_taken_while_anybody_has_them) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    EXPECT_FALSE(desk.set_nx("k", "b"));
    EXPECT_FALSE(desk.set_nx("k", "a")) << "the same value need not be the same client";
    EXPECT_EQ(desk.get("k"), "a");
}

TEST(RedisKeys, with_nx_say_if_they_are_refused_for_their_own_value) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    EXPECT_EQ(outcome_of(desk.set("k", "a", 30s, SetTerms::When::absent)), KeyOutcome::same_value);
    EXPECT_EQ(outcome_of(desk.set("k", "b", 30s, SetTerms::When::absent)), KeyOutcome::not_done);
    ASSERT_EQ(outcome_of(desk.run("s", "a", &add_member)), KeyOutcome::done);
    EXPECT_EQ(outcome_of(desk.set("s", "a", 30s, SetTerms::When::absent)), KeyOutcome::not_done) << "that is a set";
}

TEST(RedisKeys, with_nx_are_not_taken_from_holders_that_came_through_another_door) {
    KeysDesk desk;
    ASSERT_NE(desk.lock("native", "@redis/k"), 0U);
    EXPECT_FALSE(desk.set_nx("k", "a"));
    EXPECT_EQ(desk.get("k"), "native");
    EXPECT_EQ(desk.lock("another", "@redis/k"), 0U);
}

TEST(RedisKeys, are_not_taken_by_a_native_request_whose_holder_is_the_value) {  // G2
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    EXPECT_EQ(desk.lock("a", "@redis/k"), 0U);
    ASSERT_NE(desk.lock("b", "@redis/other"), 0U);
    EXPECT_FALSE(desk.set_nx("other", "b"));
}

TEST(RedisKeys, with_nx_do_not_jump_a_queue) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 1s));
    bool granted = false;
    desk.authority.acquire(
        authority::Desk::request("patient", {{"@redis/k"}}, 60s),
        [&](authority::AcquireAnswer answer) { granted = std::holds_alternative<authority::AcquireGranted>(answer); });
    desk.pass(1s);
    EXPECT_TRUE(granted);
    EXPECT_FALSE(desk.set_nx("k", "b"));
    EXPECT_EQ(desk.get("k"), "patient");
}

TEST(RedisKeys, end_at_their_time_and_not_a_moment_later) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 200ms));
    desk.pass(199ms);
    EXPECT_EQ(desk.pttl("k"), 1);
    EXPECT_FALSE(desk.set_nx("k", "b"));
    desk.pass(1ms);
    EXPECT_EQ(desk.get("k"), std::nullopt);
    EXPECT_EQ(desk.pttl("k"), -2);
    EXPECT_EQ(desk.expire_mine("k", "a", 10s).number, static_cast<std::int64_t>(KeyOutcome::absent));
    EXPECT_TRUE(desk.set_nx("k", "b"));
}

TEST(RedisKeys, may_be_shorter_than_the_policy_asks_of_others) {
    KeysDesk desk;
    ASSERT_EQ(desk.lock("native", "R", 200ms), 0U) << "the policy's minimum is a second";
    EXPECT_TRUE(desk.set_nx("k", "a", 200ms));
    EXPECT_FALSE(desk.expire_mine("k", "a", 300ms).refused);
    EXPECT_EQ(desk.pttl("k"), 300);
}

TEST(RedisKeys, are_refused_not_cut_above_the_maximum) {
    KeysDesk desk;
    EXPECT_EQ(desk.set("k", "a", 6min).refused, Code::ttl_too_long);
    EXPECT_EQ(desk.get("k"), std::nullopt);
    ASSERT_TRUE(desk.set_nx("k", "a", 1s));
    EXPECT_EQ(desk.expire("k", 6min).refused, Code::ttl_too_long);
    EXPECT_EQ(desk.expire_mine("k", "a", 6min).refused, Code::ttl_too_long);
    EXPECT_EQ(desk.pttl("k"), 1000) << "as it was";
}

TEST(RedisKeys, are_replaced_by_a_plain_set_and_the_old_holder_is_revoked) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    const lease::Token before = desk.lease_on("k").token;
    EXPECT_FALSE(desk.set("k", "b", 10s).refused);
    EXPECT_EQ(desk.get("k"), "b");
    EXPECT_GT(desk.lease_on("k").token, before);
    EXPECT_EQ(desk.verify("@redis/k", before).verified.state, lease::LeaseState::revoked);
    EXPECT_EQ(desk.happened, (Strings{"granted a", "revoked a", "granted b"}));
}

TEST(RedisKeys, get_a_new_token_from_every_set_even_of_the_same_value) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    const lease::Token before = desk.lease_on("k").token;
    EXPECT_EQ(outcome_of(desk.set("k", "a", 20s, When::present)), KeyOutcome::done);
    EXPECT_GT(desk.lease_on("k").token, before);
    EXPECT_EQ(desk.pttl("k"), 20'000);
    EXPECT_EQ(desk.verify("@redis/k", before).verified.state, lease::LeaseState::released);
}

TEST(RedisKeys, are_not_cut_short_by_a_set_of_the_same_value) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 20s));
    EXPECT_FALSE(desk.set("k", "a", 5s).refused);
    EXPECT_EQ(desk.pttl("k"), 20'000) << "the answer may be lost, and the holder goes by what it last heard";
    EXPECT_FALSE(desk.set("k", "b", 5s).refused);
    EXPECT_EQ(desk.pttl("k"), 5000);
}

TEST(RedisKeys, with_xx_are_set_only_if_they_are_there) {
    KeysDesk desk;
    EXPECT_EQ(outcome_of(desk.set("k", "a", 10s, When::present)), KeyOutcome::not_done);
    EXPECT_EQ(desk.get("k"), std::nullopt);
    ASSERT_TRUE(desk.set_nx("k", "a"));
    EXPECT_EQ(outcome_of(desk.set("k", "b", 10s, When::present)), KeyOutcome::done);
    EXPECT_EQ(desk.get("k"), "b");
}

TEST(RedisKeys, tell_the_value_before_if_asked) {
    KeysDesk desk;
    EXPECT_FALSE(had_value(desk.set("k", "a", {.get = true, .ttl = 10s})));
    const auto second = desk.set("k", "b", {.get = true, .ttl = 10s});
    EXPECT_TRUE(had_value(second));
    EXPECT_EQ(second.text, "a");
    const auto third = desk.set("k", "c", {.when = When::absent, .get = true, .ttl = 10s});
    EXPECT_EQ(third.text, "b");
    EXPECT_EQ(desk.get("k"), "b");
}

TEST(RedisKeys, keep_the_time_they_have_with_keepttl) {
    KeysDesk desk;
    EXPECT_TRUE(desk.set("k", "a", {.keep_ttl = true}).refused) << "there is none to keep";
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    desk.pass(4s);
    EXPECT_FALSE(desk.set("k", "b", {.keep_ttl = true}).refused);
    EXPECT_EQ(desk.get("k"), "b");
    EXPECT_EQ(desk.pttl("k"), 6000);
}

TEST(RedisKeys, that_cannot_be_replaced_stay_as_they_are) {
    lease::Policy policy;
    policy.bans["banned"] = {};
    KeysDesk desk(policy);
    ASSERT_TRUE(desk.set_nx("k", "a"));
    const lease::Lease before = desk.lease_on("k");
    EXPECT_EQ(desk.set("k", "banned", 10s).refused, Code::banned);
    EXPECT_EQ(desk.lease_on("k"), before);
    EXPECT_EQ(desk.happened, (Strings{"granted a"}));
}

TEST(RedisKeys, do_not_jump_a_queue_by_a_plain_set_either) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    desk.authority.acquire(authority::Desk::request("patient", {{"@redis/k"}}, 60s),
                           [](const authority::AcquireAnswer&) {});
    EXPECT_EQ(desk.set("k", "b", 10s).refused, Code::busy);
    EXPECT_EQ(desk.get("k"), "a");
    EXPECT_FALSE(desk.set("k", "a", 10s).refused == std::nullopt) << "nor does its holder";
}

// ---- policy and recovery ----

TEST(RedisKeys, pass_the_whole_policy) {
    lease::Policy policy;
    policy.bans["banned"] = {};
    policy.name_pattern = *lease::NamePattern::compile("@redis/lock:.*");
    policy.leases_per_holder_max = 1;
    KeysDesk desk(policy);
    EXPECT_EQ(desk.set("lock:1", "banned", 10s, When::absent).refused, Code::banned);
    EXPECT_EQ(desk.set("other", "a", 10s, When::absent).refused, Code::name_refused);
    EXPECT_TRUE(desk.set_nx("lock:1", "a"));
    EXPECT_EQ(desk.set("lock:2", "a", 10s, When::absent).refused, Code::over_quota);
}

TEST(RedisKeys, are_held_no_longer_than_the_quota_and_told_so_instead_of_cut) {
    lease::Policy policy;
    policy.hold_max = 60s;
    KeysDesk desk(policy);
    EXPECT_EQ(desk.set("k", "a", 61s, When::absent).refused, Code::over_quota);
    ASSERT_TRUE(desk.set_nx("k", "a", 40s));
    desk.pass(30s);
    EXPECT_EQ(desk.expire_mine("k", "a", 31s).refused, Code::over_quota);
    EXPECT_FALSE(desk.expire_mine("k", "a", 30s).refused);
    EXPECT_EQ(desk.set("k", "a", 31s).refused, Code::over_quota) << "nor by setting it anew";
}

TEST(RedisKeys, are_not_renewed_by_one_who_was_banned_or_barred) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    ASSERT_TRUE(desk.set_nx("l", "b"));
    desk.authority.bar({"@redis/k", desk.lease_on("k").token}, [](const authority::Answer<authority::HeldLease>&) {});
    desk.authority.ban("b", {}, [](const authority::Answer<lease::Ban>&) {});
    EXPECT_EQ(desk.expire_mine("k", "a", 40s).refused, Code::renewal_barred);
    EXPECT_EQ(desk.expire_mine("l", "b", 40s).refused, Code::banned);
    EXPECT_EQ(desk.outcome("l", "b", &remove_if_equal), KeyOutcome::done) << "to let go is always allowed";
}

TEST(RedisKeys, are_not_granted_while_the_server_recovers) {
    KeysDesk desk({}, Instant{2000s});
    EXPECT_EQ(desk.set("k", "a", 10s, When::absent).refused, Code::recovering);
    EXPECT_EQ(desk.set("k", "a", 10s).refused, Code::recovering);
    desk.at(Instant{2000s});
    EXPECT_TRUE(desk.set_nx("k", "a"));
}

// ---- the rest ----

TEST(RedisKeys, are_deleted_by_anybody_and_only_if_equal_by_scripts) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a"));
    EXPECT_EQ(desk.outcome("k", "b", &remove_if_equal), KeyOutcome::not_done);
    EXPECT_EQ(desk.outcome("none", "b", &remove_if_equal), KeyOutcome::absent);
    EXPECT_EQ(desk.outcome("k", "", &remove_key), KeyOutcome::done);
    EXPECT_EQ(desk.outcome("k", "", &remove_key), KeyOutcome::absent);
    ASSERT_TRUE(desk.set_nx("k", "b"));
    const auto answer = desk.run("k", "", &get_and_remove_key);
    EXPECT_EQ(answer.text, "b");
    EXPECT_EQ(desk.get("k"), std::nullopt);
}

TEST(RedisKeys, keep_their_token_when_they_are_extended) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    const lease::Token token = desk.lease_on("k").token;
    EXPECT_EQ(outcome_of(desk.expire_mine("k", "b", 20s)), KeyOutcome::not_done);
    EXPECT_EQ(outcome_of(desk.expire_mine("k", "a", 20s)), KeyOutcome::done);
    EXPECT_EQ(desk.lease_on("k").token, token);
    EXPECT_EQ(desk.pttl("k"), 20'000);
}

TEST(RedisKeys, are_extended_by_what_is_left_and_more) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    desk.pass(4s);
    const auto extend = [](authority::RecordTransaction& quick) { extend_if_equal(quick, 5s); };
    EXPECT_EQ(outcome_of(desk.run("k", "a", extend)), KeyOutcome::done);
    EXPECT_EQ(desk.pttl("k"), 11'000);
    EXPECT_EQ(outcome_of(desk.run("k", "b", extend)), KeyOutcome::not_done);
}

TEST(RedisKeys, are_never_brought_to_an_earlier_end_but_zero_deletes_them) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    EXPECT_EQ(outcome_of(desk.expire("k", 1s)), KeyOutcome::done);
    EXPECT_EQ(desk.pttl("k"), 10'000);
    EXPECT_EQ(outcome_of(desk.expire("k", 0s)), KeyOutcome::done);
    EXPECT_EQ(desk.get("k"), std::nullopt);
    EXPECT_EQ(outcome_of(desk.expire("k", 1s)), KeyOutcome::absent);
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    EXPECT_EQ(outcome_of(desk.expire("k", -5s)), KeyOutcome::done);
    EXPECT_EQ(desk.get("k"), std::nullopt);
}

TEST(RedisKeys, heed_the_conditions_of_expire) {
    struct Case {
        ExpireWhen when;
        Duration ttl;
        KeyOutcome outcome;
        std::int64_t left;
    };
    for (const Case& c : {Case{ExpireWhen::always, 20s, KeyOutcome::done, 20'000},
                          {ExpireWhen::without_expiry, 20s, KeyOutcome::not_done, 10'000},
                          {ExpireWhen::with_expiry, 20s, KeyOutcome::done, 20'000},
                          {ExpireWhen::later, 20s, KeyOutcome::done, 20'000},
                          {ExpireWhen::later, 10s, KeyOutcome::not_done, 10'000},
                          {ExpireWhen::earlier, 5s, KeyOutcome::not_done, 10'000},
                          {ExpireWhen::earlier, 20s, KeyOutcome::not_done, 10'000},
                          {ExpireWhen::earlier, 0s, KeyOutcome::done, -2}}) {
        KeysDesk desk;
        ASSERT_TRUE(desk.set_nx("k", "a", 10s));
        EXPECT_EQ(outcome_of(desk.expire("k", c.ttl, c.when)), c.outcome) << static_cast<int>(c.when);
        EXPECT_EQ(desk.pttl("k"), c.left) << static_cast<int>(c.when);
    }
}

TEST(RedisKeys, tell_the_time_left_only_to_who_has_them) {
    KeysDesk desk;
    ASSERT_TRUE(desk.set_nx("k", "a", 10s));
    desk.pass(1s);
    const auto answer = desk.run("k", "a", &time_left_if_equal);
    EXPECT_EQ(outcome_of(answer), KeyOutcome::done);
    EXPECT_EQ(answer.lease.expires_at - answer.at, Duration{9s});
    EXPECT_EQ(desk.outcome("k", "b", &time_left_if_equal), KeyOutcome::not_done);
}

// ---- sets ----

TEST(RedisKeys, of_sets_are_shared_by_their_members) {
    KeysDesk desk;
    EXPECT_EQ(desk.outcome("s", "a", &add_member, true), KeyOutcome::done);
    EXPECT_EQ(desk.outcome("s", "b", &add_member, true), KeyOutcome::done);
    EXPECT_EQ(desk.outcome("s", "a", &add_member, true), KeyOutcome::not_done);
    EXPECT_EQ(desk.outcome("s", "b", &is_member), KeyOutcome::done);
    EXPECT_EQ(desk.outcome("s", "c", &is_member), KeyOutcome::not_done);
    const auto all = desk.run("s", "", &members);
    EXPECT_EQ(all.number, 2);
    EXPECT_EQ(all.text, std::string("a\0b\0", 4));
    EXPECT_EQ(desk.pttl("s"), 300'000) << "as long as the policy allows";
    EXPECT_EQ(desk.outcome("s", "a", &remove_member), KeyOutcome::done);
    EXPECT_EQ(desk.outcome("s", "a", &remove_member), KeyOutcome::not_done);
    EXPECT_EQ(desk.outcome("s", "", &remove_key), KeyOutcome::done);
    EXPECT_EQ(desk.run("s", "", &type_of_key).number, static_cast<std::int64_t>(KeyType::none));
}

TEST(RedisKeys, of_the_wrong_type_are_told_from_missing_ones) {
    KeysDesk desk;
    ASSERT_EQ(desk.outcome("s", "a", &add_member, true), KeyOutcome::done);
    ASSERT_TRUE(desk.set_nx("k", "a"));
    for (const KeysDesk::SimpleRule rule :
         {&get_key, &remove_if_equal, &time_left_if_equal, &compare, &get_and_remove_key})
        EXPECT_EQ(desk.outcome("s", "a", rule), KeyOutcome::wrong_type);
    for (const KeysDesk::SimpleRule rule : {&remove_member, &is_member, &members})
        EXPECT_EQ(desk.outcome("k", "a", rule), KeyOutcome::wrong_type);
    EXPECT_EQ(desk.outcome("k", "a", &add_member, true), KeyOutcome::wrong_type);
    EXPECT_FALSE(desk.set_nx("s", "b")) << "it exists";
    EXPECT_EQ(outcome_of(desk.set("s", "b", {.get = true, .ttl = 10s})), KeyOutcome::wrong_type);
    EXPECT_EQ(outcome_of(desk.set("s", "b", 10s)), KeyOutcome::done) << "SET replaces whatever is there";
    EXPECT_EQ(desk.get("s"), "b");
}

// ---- names ----

TEST(RedisKeys, must_be_names_that_every_door_can_tell) {
    EXPECT_TRUE(check_key("lock:1"));
    EXPECT_TRUE(check_key(std::string(4096, 'k')));
    for (const std::string& key : {std::string(), std::string(4097, 'k'), std::string("a\nb"), std::string("\xff")})
        EXPECT_FALSE(check_key(key)) << key;
    EXPECT_TRUE(check_value(std::string(256, 'v')));
    for (const std::string& value : {std::string(), std::string(257, 'v'), std::string("a\0b", 3), std::string("\xc3")})
        EXPECT_FALSE(check_value(value)) << value;
}

}  // namespace
}  // namespace holdfast::redis
