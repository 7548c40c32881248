#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

// The policy of a namespace (R7).

lease::Policy with_team() {
    lease::Policy policy;
    policy.namespaces["team"].ttl_max = 30s;
    policy.namespaces["team"].ttl_default = 20s;
    policy.namespaces["team"].wait_max = 5s;
    policy.namespaces["team"].leases_per_holder_max = 2;
    return policy;
}

AcquireRequest key_of(const std::string& drone, const std::string& name) {
    AcquireRequest asked = Desk::request(drone, {{"KEY:" + name}});
    asked.caller.acts_for = lease::Owner::keys;
    return asked;
}

TEST(Namespaces, give_each_entry_of_a_manifest_its_own_terms) {
    Desk desk(with_team());
    AcquireRequest asked = Desk::request("ann", {{"@team/a"}, {"b"}});
    const auto by_default = desk.ask(asked);
    const auto& leases = std::get<AcquireGranted>(*by_default).leases;
    EXPECT_EQ(leases.at(0).lease.ttl, 20s);
    EXPECT_EQ(leases.at(1).lease.ttl, 60s);
    EXPECT_FALSE(std::get<AcquireGranted>(*by_default).ttl_cut);
    asked = Desk::request("bob", {{"@team/c"}, {"d"}});
    asked.ttl = 40s;
    const auto cut = desk.ask(asked);
    EXPECT_EQ(std::get<AcquireGranted>(*cut).leases.at(0).lease.ttl, 30s);
    EXPECT_EQ(std::get<AcquireGranted>(*cut).leases.at(1).lease.ttl, 40s);
    ASSERT_TRUE(std::get<AcquireGranted>(*cut).ttl_cut);
    EXPECT_EQ(std::get<AcquireGranted>(*cut).ttl_cut->requested, 40s);
    EXPECT_EQ(std::get<AcquireGranted>(*cut).ttl_cut->granted, 30s);
}

TEST(Namespaces, refuse_a_manifest_for_any_entry_that_its_own_policy_refuses) {
    lease::Policy policy;
    policy.namespaces["team"].name_pattern = *lease::NamePattern::compile("job-.*");
    Desk desk(policy);
    EXPECT_EQ(code_of(*desk.ask(Desk::request("ann", {{"b"}, {"@team/a"}}))), Code::name_refused);
    EXPECT_NE(desk.lock("bob", "b"), 0U) << "nothing of it was taken";
    EXPECT_NE(desk.lock("ann", "@team/job-1"), 0U);
}

TEST(Namespaces, limit_a_wait_to_the_shortest_of_a_manifest) {
    Desk desk(with_team());
    ASSERT_NE(desk.lock("bob", "b"), 0U);
    std::optional<Code> told;
    desk.authority.acquire(Desk::request("ann", {{"@team/a"}, {"b"}}, 50s),
                           [&](const AcquireAnswer& answer) { told = code_of(answer); });
    desk.pass(4s);
    EXPECT_EQ(told, std::nullopt);
    desk.pass(1s);
    EXPECT_EQ(told, Code::wait_timeout);
}

TEST(Namespaces, count_the_leases_of_a_limit_of_their_own_alone) {  // R6
    lease::Policy policy = with_team();
    policy.leases_per_holder_max = 3;
    Desk desk(policy);
    for (const char* name : {"a", "b", "@invented/c"})
        EXPECT_NE(desk.lock("ann", name), 0U) << name;
    EXPECT_EQ(desk.lock("ann", "@other/d"), 0U) << "no namespace is a way around the limit";
    EXPECT_NE(desk.lock("ann", "@team/a"), 0U);
    EXPECT_EQ(code_of(*desk.ask(Desk::request("ann", {{"@team/b"}, {"@team/c"}}))), Code::over_quota);
    EXPECT_NE(desk.lock("ann", "@team/b"), 0U);
    EXPECT_EQ(desk.lock("ann", "@team/c"), 0U);
    EXPECT_EQ(code_of(*desk.ask(Desk::request("bob", {{"a2"}, {"@team/1"}, {"@team/2"}, {"@team/3"}}))),
              Code::invalid_argument);
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(
        *desk.ask(Desk::request("bob", {{"1"}, {"2"}, {"3"}, {"@team/1"}, {"@team/2"}}))));
}

TEST(Namespaces, keep_drones_out_of_the_quotas_of_people) {
    lease::Policy policy;
    policy.leases_per_holder_max = 3;
    policy.hold_max = 20s;
    policy.idle_max = 10s;
    policy.name_pattern = *lease::NamePattern::compile("lock-.*");
    Desk desk(policy);
    lease::Token token = 0;
    for (int i = 0; i < 10; ++i) {
        const auto answer = desk.ask(key_of("drone", "room-" + std::to_string(i)));
        ASSERT_TRUE(std::holds_alternative<AcquireGranted>(*answer)) << i;
        token = std::get<AcquireGranted>(*answer).leases[0].lease.token;
    }
    EXPECT_NE(desk.lock("drone", "lock-1"), 0U) << "nor do keys use up what a person may hold";
    int renewed = 0;
    for (int i = 0; i < 4; ++i) {
        desk.pass(40s);
        desk.authority.renew({{}, "drone", {}, {{{"KEY:room-9", token}, 7}}, {}, {}},
                             [&](const std::vector<RenewAnswer>& answers) {
                                 renewed += std::holds_alternative<RenewedLease>(answers.at(0).result) ? 1 : 0;
                             });
    }
    EXPECT_EQ(renewed, 4);
}

TEST(Namespaces, limit_drones_by_the_policy_of_keys) {
    lease::Policy policy;
    policy.namespaces["~keys"].leases_per_holder_max = 1;
    Desk desk(policy);
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*desk.ask(key_of("drone", "a"))));
    EXPECT_EQ(code_of(*desk.ask(key_of("drone", "b"))), Code::over_quota);
    EXPECT_NE(desk.lock("drone", "a"), 0U);
    EXPECT_NE(desk.lock("drone", "b"), 0U);
}

TEST(Namespaces, renew_within_their_own_limits) {
    Desk desk;
    const lease::Token token = desk.lock("ann", "@team/a", 60s);
    PolicyChange change;
    change.name_space = "team";
    change.ttl_max = 30s;
    change.ttl_default = 30s;
    change.hold_max = 100s;
    bool changed = false;
    desk.authority.change_policy(
        change, [&](const Answer<lease::Policy>& answer) { changed = std::holds_alternative<lease::Policy>(answer); });
    ASSERT_TRUE(changed);
    desk.pass(50s);
    std::optional<RenewedLease> renewed;
    const auto renew = [&] {
        renewed.reset();
        desk.authority.renew({{}, "ann", {}, {{{"@team/a", token}, {}}}, {}, {}},
                             [&](const std::vector<RenewAnswer>& answers) {
                                 if (const auto* told = std::get_if<RenewedLease>(&answers.at(0).result))
                                     renewed = *told;
                             });
    };
    renew();
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->held.lease.ttl, 30s);
    desk.pass(25s);
    renew();
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->held.timeline.expires_in, 25s) << "the quota is of this namespace";
}

TEST(Namespaces, inherit_again_what_they_are_told_to) {
    Desk desk(with_team());
    const auto change = [&](const PolicyChange& wanted) {
        std::optional<Answer<lease::Policy>> got;
        desk.authority.change_policy(wanted, [&](Answer<lease::Policy> answer) { got = std::move(answer); });
        EXPECT_TRUE(got.has_value());
        return got && std::holds_alternative<lease::Policy>(*got);
    };
    PolicyChange back;
    back.name_space = "team";
    back.inherit = {lease::PolicySetting::ttl_max, lease::PolicySetting::ttl_default};
    EXPECT_TRUE(change(back));
    EXPECT_EQ(desk.authority.policy().of("@team/a").ttl_max(), 5min);
    EXPECT_EQ(desk.authority.policy().of("@team/a").wait_max(), 5s);
    back.inherit = {lease::PolicySetting::wait_max, lease::PolicySetting::leases_per_holder_max};
    EXPECT_TRUE(change(back));
    EXPECT_TRUE(desk.authority.policy().namespaces.empty());
    back.name_space = lease::default_namespace;
    EXPECT_FALSE(change(back)) << "it inherits from none";
}

}  // namespace
}  // namespace holdfast::authority
