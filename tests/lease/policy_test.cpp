#include "lease/policy.h"

#include <gtest/gtest.h>

namespace holdfast::lease {
namespace {

Duration granted(const Policy& policy, std::optional<Duration> asked) {
    return std::get<GrantedTtl>(decide_ttl(policy, asked)).ttl;
}
Code refused(const Policy& policy, std::optional<Duration> asked) {
    return std::get<RefusedTtl>(decide_ttl(policy, asked)).code;
}

TEST(Ttl, has_a_default_of_a_minute) {  // G4
    EXPECT_EQ(granted({}, std::nullopt), 60s);
}

TEST(Ttl, above_the_maximum_is_cut_to_it_and_said_so) {
    const auto decision = decide_ttl({}, 10min);
    EXPECT_EQ(std::get<GrantedTtl>(decision).ttl, 5min);
    EXPECT_TRUE(std::get<GrantedTtl>(decision).cut);
    EXPECT_FALSE(std::get<GrantedTtl>(decide_ttl({}, 5min)).cut);
}

TEST(Ttl, below_the_minimum_is_refused) {
    EXPECT_EQ(refused({}, 999ms), Code::ttl_too_short);
    EXPECT_EQ(granted({}, 1s), 1s);
}

TEST(Ttl, above_the_maximum_is_refused_if_the_policy_says_so) {
    Policy policy;
    policy.reject_above_max = true;
    EXPECT_EQ(refused(policy, 5min + 1ms), Code::ttl_too_long);
}

TEST(Ttl, of_who_is_not_told_is_as_asked_or_refused) {
    const auto exactly = [](Duration asked) { return decide_exact_ttl({}, asked); };
    EXPECT_EQ(std::get<GrantedTtl>(exactly(200ms)).ttl, 200ms);
    EXPECT_EQ(std::get<GrantedTtl>(exactly(5min)).ttl, 5min);
    EXPECT_EQ(std::get<RefusedTtl>(exactly(5min + 1ms)).code, Code::ttl_too_long);
    EXPECT_EQ(std::get<RefusedTtl>(exactly(1ms - 1ns)).code, Code::ttl_too_short);
}

TEST(NamePattern, must_match_the_whole_name) {
    const auto pattern = NamePattern::compile("FILE:/src/.*");
    EXPECT_TRUE(pattern->matches("FILE:/src/main.c"));
    EXPECT_FALSE(pattern->matches("x FILE:/src/main.c"));
    EXPECT_TRUE(NamePattern{}.matches("anything"));
}

TEST(NamePattern, that_does_not_compile_or_is_too_long_is_refused) {
    EXPECT_FALSE(NamePattern::compile("(unclosed"));
    EXPECT_FALSE(NamePattern::compile(std::string(2000, 'a')));
}

TEST(Policy, refuses_the_banned_and_the_misnamed) {  // R7
    Policy policy;
    policy.bans["mallory"] = {};
    policy.name_pattern = *NamePattern::compile("ok-.*");
    EXPECT_EQ(bar_to(policy, "mallory", "ok-1"), Code::banned);
    EXPECT_EQ(bar_to(policy, "alice", "no-1"), Code::name_refused);
    EXPECT_EQ(bar_to(policy, "alice", "ok-1"), std::nullopt);
}

TEST(Policy, with_contradictory_settings_is_refused) {
    EXPECT_TRUE(Policy{}.check());
    const auto with = [](auto change) {
        Policy policy;
        change(policy);
        return policy.check();
    };
    EXPECT_FALSE(with([](Policy& p) { p.ttl_min = 0s; }));
    EXPECT_FALSE(with([](Policy& p) { p.ttl_max = 500ms; }));
    EXPECT_FALSE(with([](Policy& p) { p.ttl_max = 25h; }));
    EXPECT_FALSE(with([](Policy& p) { p.ttl_default = 6min; }));
    EXPECT_FALSE(with([](Policy& p) { p.wait_max = -1s; }));
    EXPECT_FALSE(with([](Policy& p) { p.wait_max = 2h; }));
}

TEST(NameRules, deny_a_service_name_to_one_or_to_all_or_keep_it_for_some) {  // D5
    using Kind = NameRule::Kind;
    Policy policy;
    const auto may = [&](const char* who, const char* name) {
        return bar_to(policy, who, "@~services/" + std::string(name)) == std::nullopt;
    };
    policy.name_rules[{"web", "anna"}] = {Kind::denied, "", 0};
    EXPECT_EQ(bar_to(policy, "anna", "@~services/web"), Code::name_denied);
    EXPECT_EQ(bar_to(policy, "anna", "web"), std::nullopt) << "of services only";
    EXPECT_TRUE(may("ben", "web"));
    EXPECT_TRUE(may("anna", "web2"));
    EXPECT_TRUE(may("anna", "we"));
    policy.name_rules[{"db", "ben"}] = {Kind::reserved, "", 0};
    EXPECT_TRUE(may("ben", "db"));
    EXPECT_FALSE(may("anna", "db"));
    EXPECT_FALSE(may("carla", "db"));
    policy.name_rules[{"db", "carla"}] = {Kind::reserved, "", 0};
    EXPECT_TRUE(may("ben", "db"));
    EXPECT_TRUE(may("carla", "db"));
    policy.name_rules[{"db", "anna"}] = {Kind::denied, "spoke", 0};
    EXPECT_EQ(name_denial(policy, "anna", "db")->reason, "spoke");
    policy.name_rules[{"db", ""}] = {Kind::denied, "closed", 0};
    EXPECT_FALSE(may("ben", "db")) << "what is denied to everybody is nobody's";
    EXPECT_EQ(name_denial(policy, "ben", "db")->reason, "closed");
    policy.name_rules.erase({"db", ""});
    EXPECT_TRUE(may("ben", "db"));
}

TEST(NameRules, have_a_limit) {
    Policy policy;
    for (int i = 0; i < 10'000; ++i)
        policy.name_rules[{std::to_string(i), ""}] = {};
    EXPECT_TRUE(policy.check());
    policy.name_rules[{"one more", ""}] = {};
    EXPECT_FALSE(policy.check());
}

TEST(Policy, sees_the_bare_name_of_a_service_and_who_is_approved) {
    Policy policy;
    policy.name_pattern = *NamePattern::compile("web.*");
    EXPECT_EQ(bar_to(policy, "anna", "@~services/web-1"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "anna", "@~services/db"), Code::name_refused);
    EXPECT_EQ(bar_to(policy, "anna", "@team/web-1"), Code::name_refused) << "of anything else it is the full name";
    policy.approval = Approval::manual;
    policy.approved.insert("anna");
    EXPECT_EQ(bar_to(policy, "anna", "@~services/web-1"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "ben", "@~services/web-1"), Code::awaiting_approval);
    EXPECT_EQ(bar_to(policy, "ben", "web-1"), std::nullopt) << "approval is for publishers";
    policy.bans["ben"] = {};
    EXPECT_EQ(bar_to(policy, "ben", "@~services/web-1"), Code::banned);
}

}  // namespace
}  // namespace holdfast::lease
