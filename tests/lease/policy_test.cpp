#include "lease/policy.h"

#include <gtest/gtest.h>

#include "lease/limits.h"

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
    const auto decision = decide_ttl(Policy{}, 10min);
    EXPECT_EQ(std::get<GrantedTtl>(decision).ttl, 5min);
    EXPECT_TRUE(std::get<GrantedTtl>(decision).cut);
    EXPECT_FALSE(std::get<GrantedTtl>(decide_ttl(Policy{}, 5min)).cut);
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
    const auto exactly = [](Duration asked) { return decide_exact_ttl(Policy{}, asked); };
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
    policy.namespaces["~services"].name_pattern = *NamePattern::compile("web.*");
    EXPECT_EQ(bar_to(policy, "anna", "@~services/web-1"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "anna", "@~services/db"), Code::name_refused);
    EXPECT_EQ(bar_to(policy, "anna", "db"), std::nullopt) << "only services";
    policy.approval = Approval::manual;
    policy.approved.insert("anna");
    EXPECT_EQ(bar_to(policy, "anna", "@~services/web-1"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "ben", "@~services/web-1"), Code::awaiting_approval);
    EXPECT_EQ(bar_to(policy, "ben", "web-1"), std::nullopt) << "approval is for publishers";
    policy.bans["ben"] = {};
    EXPECT_EQ(bar_to(policy, "ben", "@~services/web-1"), Code::banned);
}

// ---- namespaces (R7) ----

TEST(NamespacePolicy, inherits_what_it_does_not_set) {
    Policy policy;
    policy.ttl_max = 2min;
    policy.hold_max = 1h;
    policy.namespaces["batch"].ttl_max = 1h;
    policy.namespaces["batch"].leases_per_holder_max = 3;
    const NamespacePolicy batch = policy.of("@batch/job");
    EXPECT_EQ(batch.ttl_max(), 1h);
    EXPECT_EQ(batch.leases_per_holder_max(), 3U);
    EXPECT_EQ(batch.hold_max(), 1h);
    EXPECT_TRUE(batch.sets(PolicySetting::ttl_max));
    EXPECT_FALSE(batch.sets(PolicySetting::hold_max));
    policy.hold_max = 2h;
    EXPECT_EQ(batch.hold_max(), 2h) << "also what changes later";
    for (const char* other : {"job", "@other/job", "@batches/job"})
        EXPECT_EQ(policy.of(other).ttl_max(), 2min) << other;
}

TEST(NamespacePolicy, of_keys_and_services_has_the_ttls_of_all_but_no_quota_of_people) {
    Policy policy;
    policy.ttl_max = 2min;
    policy.wait_max = 1s;
    policy.name_pattern = *NamePattern::compile("lock/.*");
    policy.hold_max = 20s;
    policy.idle_max = 10s;
    policy.leases_per_holder_max = 3;
    for (const char* name : {"KEY:room", "@team/KEY:room", "@~services/web"}) {
        const NamespacePolicy own = policy.of(name);
        EXPECT_EQ(own.ttl_max(), 2min) << name;
        EXPECT_EQ(own.wait_max(), 1s) << name;
        EXPECT_EQ(own.hold_max(), 0s) << name;
        EXPECT_EQ(own.idle_max(), 0s) << name;
        EXPECT_EQ(own.leases_per_holder_max(), 0U) << name;
        EXPECT_EQ(bar_to(policy, "anna", name), std::nullopt) << name;
    }
    EXPECT_EQ(policy.of("@redis/KEY:room").hold_max(), 20s) << "no key of a service";
    policy.namespaces["~keys"].hold_max = 1h;
    EXPECT_EQ(policy.of("@team/KEY:room").hold_max(), 1h);
    EXPECT_EQ(policy.of("@team/room").hold_max(), 20s);
}

TEST(NamespacePolicy, matches_a_pattern_of_its_own_with_the_name_in_it_and_an_inherited_one_with_the_full_name) {
    Policy policy;
    policy.name_pattern = *NamePattern::compile("@team/.*|a");
    EXPECT_EQ(bar_to(policy, "anna", "@team/x"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "anna", "x"), Code::name_refused);
    policy.namespaces["team"].name_pattern = *NamePattern::compile("y");
    policy.namespaces["~keys"].name_pattern = *NamePattern::compile("room");
    EXPECT_EQ(bar_to(policy, "anna", "@team/x"), Code::name_refused);
    EXPECT_EQ(bar_to(policy, "anna", "@team/y"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "anna", "@team/KEY:room"), std::nullopt);
    EXPECT_EQ(bar_to(policy, "anna", "KEY:hall"), Code::name_refused);
    policy.namespaces["team"].name_pattern = NamePattern{};
    EXPECT_EQ(bar_to(policy, "anna", "@team/anything"), std::nullopt) << "none is a setting too";
}

TEST(NamespacePolicy, counts_for_the_wait_after_a_crash_with_the_longest_ttl_of_all) {  // S1
    Policy policy;
    policy.ttl_max = 10s;
    policy.ttl_default = 5s;
    EXPECT_EQ(policy.longest_ttl(), 10s);
    policy.namespaces["~keys"].ttl_max = 1h;
    policy.namespaces["short"].ttl_max = 2s;
    EXPECT_EQ(policy.longest_ttl(), 1h);
    policy.cap_ttls(6s);
    EXPECT_EQ(policy.longest_ttl(), 6s);
    for (const char* name : {"a", "KEY:a", "@short/a", "@~services/a"})
        EXPECT_LE(policy.of(name).ttl_max(), 6s) << name;
    EXPECT_EQ(policy.of("@short/a").ttl_max(), 2s);
}

TEST(NamespacePolicy, that_contradicts_itself_or_what_it_inherits_is_refused) {
    const auto with = [](const char* name, auto change) {
        Policy policy;
        change(policy.namespaces[name]);
        return policy.check();
    };
    EXPECT_TRUE(with("team", [](PolicyOverrides& own) { own.ttl_max = 10min; }));
    const auto refused = with("team", [](PolicyOverrides& own) { own.ttl_max = 30s; });
    ASSERT_FALSE(refused) << "the default TTL is a minute";
    EXPECT_EQ(refused.error().message.find("namespace team: ttl_default_ms"), 0U) << refused.error().message;
    for (const char* name : {"default", "", "~other", "not a name"})
        EXPECT_FALSE(with(name, [](PolicyOverrides& own) { own.wait_max = 1s; })) << name;
    EXPECT_TRUE(with("~services", [](PolicyOverrides& own) { own.wait_max = 1s; }));
    Policy many;
    for (std::size_t i = 0; i <= limits::policy_namespaces; ++i)
        many.namespaces["n" + std::to_string(i)].wait_max = 1s;
    EXPECT_FALSE(many.check());
}

TEST(NamespacePolicy, counts_leases_together_that_one_limit_is_for) {  // R6
    Policy policy;
    policy.leases_per_holder_max = 3;
    EXPECT_EQ(policy.quota_scope("a"), policy.quota_scope("@invented/a")) << "no way around the limit";
    EXPECT_NE(policy.quota_scope("a"), policy.quota_scope("KEY:a"));
    EXPECT_NE(policy.quota_scope("a"), policy.quota_scope("@~services/a"));
    policy.namespaces["team"].leases_per_holder_max = 5;
    EXPECT_NE(policy.quota_scope("a"), policy.quota_scope("@team/a"));
    policy.namespaces["other"].hold_max = 5s;
    EXPECT_EQ(policy.quota_scope("a"), policy.quota_scope("@other/a"));
}

}  // namespace
}  // namespace holdfast::lease
