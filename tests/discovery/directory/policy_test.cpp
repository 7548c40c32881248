#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"

namespace holdfast::discovery::directory {
namespace {

TEST(ServicePolicy, ban_hides_at_once_refuses_the_next_renewal_and_lets_the_lease_run_out) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.enter("ben", "db", DirectoryDesk::over(2));
    desk.ban(desk.id("anna"));
    EXPECT_FALSE(desk.find("web"));
    EXPECT_EQ(desk.names(), std::vector<std::string>{"db"});
    EXPECT_FALSE(desk.directory->served("web"));
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].connection, 1u);
    EXPECT_EQ(desk.withdrawn[0].code, Code::banned);
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::banned);
    EXPECT_EQ(desk.enter("anna", "other").refused, Code::banned);
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, Code::name_taken) << "it is still held";
    desk.pass(30s);
    EXPECT_EQ(desk.verify("@~services/web", told.token).verified.state, lease::LeaseState::expired);
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, std::nullopt);
    EXPECT_EQ(desk.withdrawn.size(), 2u) << "one for the ban, one for the end of what ben had not renewed";
    EXPECT_EQ(desk.withdrawn[1].name, "db");
    EXPECT_EQ(desk.withdrawn[1].code, Code::lease_expired);
}

TEST(ServicePolicy, ban_that_is_lifted_in_time_shows_again_what_is_still_held) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.ban(desk.id("anna"));
    desk.pass(10s);
    desk.unban(desk.id("anna"));
    EXPECT_TRUE(desk.find("web"));
    EXPECT_TRUE(desk.directory->served("web"));
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
}

TEST(ServicePolicy, ban_of_an_address_or_a_prefix_hits_whoever_comes_from_there) {
    DirectoryDesk desk;
    const auto far = DirectoryDesk::over(1, "[2001:db8::7]:4711");
    const auto near = DirectoryDesk::over(2, "10.1.2.3:99");
    const auto told = desk.enter("anna", "web", near);
    ASSERT_EQ(desk.enter("ben", "db", far).refused, std::nullopt);
    desk.ban("10.0.0.0/8");
    EXPECT_TRUE(desk.directory->address_banned("10.9.9.9:1"));
    EXPECT_FALSE(desk.directory->address_banned("11.9.9.9:1"));
    EXPECT_EQ(desk.names(), std::vector<std::string>{"db"});
    EXPECT_EQ(desk.renew("anna", "web", told.token, near).refused, Code::banned);
    EXPECT_EQ(desk.renew("anna", "web", told.token, DirectoryDesk::over(2, "11.1.2.3:99")).refused, std::nullopt)
        << "the publisher is somewhere else now";
    EXPECT_FALSE(desk.find("web")) << "what was registered from there stays hidden";
    EXPECT_EQ(desk.withdrawn.at(0).code, Code::banned);
    desk.ban("2001:DB8:0::7");
    EXPECT_TRUE(desk.names().empty());
    EXPECT_TRUE(desk.authority.policy().bans.contains("2001:db8::7")) << "kept in its one spelling";
    desk.unban("2001:db8:0:0::7");
    desk.unban("10.9.9.9/8");
    EXPECT_EQ(desk.names().size(), 2u);
    EXPECT_TRUE(desk.authority.policy().bans.empty());
}

TEST(ServicePolicy, pattern_is_of_the_bare_name_and_a_change_hits_at_the_next_renewal) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.name_space = lease::services_namespace;
    change.name_pattern = "[a-z]+";
    ASSERT_EQ(desk.change(change), std::nullopt);
    const auto told = desk.enter("anna", "web");
    EXPECT_EQ(told.refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "web-2").refused, Code::name_refused);
    EXPECT_EQ(desk.enter("anna", "").refused, Code::name_refused) << "those that were given are matched too";
    change.name_pattern = "db.*";
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_TRUE(desk.find("web")) << "it is no ban";
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::name_refused);
    desk.pass(30s);
    EXPECT_FALSE(desk.find("web"));
}

TEST(ServicePolicy, pattern_that_does_not_compile_is_refused_and_the_old_one_stays) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.name_space = lease::services_namespace;
    change.name_pattern = "db.*";
    ASSERT_EQ(desk.change(change), std::nullopt);
    change.name_pattern = "(";
    EXPECT_EQ(desk.change(change), Code::invalid_policy);
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::name_refused);
    EXPECT_EQ(desk.enter("anna", "db-1").refused, std::nullopt);
}

TEST(ServicePolicy, ttl_bounds_hold_for_registrations_and_renewals) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.ttl_min = 10s;
    change.ttl_max = 40s;
    change.ttl_default = 20s;
    ASSERT_EQ(desk.change(change), std::nullopt);
    Update update = desk.named("web");
    update.ttl = 9s;
    EXPECT_EQ(desk.say("anna", update).refused, Code::ttl_too_short);
    update = desk.named("web");
    update.ttl = 41s;
    auto told = desk.say("anna", update);
    EXPECT_EQ(told.refused, std::nullopt);
    EXPECT_EQ(told.ttl, 40s) << "cut, and told so (G4)";
    change.reject_above_max = true;
    ASSERT_EQ(desk.change(change), std::nullopt);
    update = desk.named("web");
    update.ttl = 41s;
    EXPECT_EQ(desk.say("anna", update).refused, Code::ttl_too_long);
    update = desk.named("web");
    update.ttl = 12s;
    told = desk.say("anna", update);
    EXPECT_EQ(told.renew_in, 2s);
    change.ttl_min = 15s;
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::ttl_too_short);
}

TEST(ServicePolicy, default_ttl_is_thirty_seconds_within_the_bounds) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.ttl_max = 20s;
    change.ttl_default = 20s;
    change.reject_above_max = true;
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.enter("anna", "web").ttl, 20s);
    change.ttl_max = 100s;
    change.ttl_min = 40s;
    change.ttl_default = 90s;
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.enter("anna", "web").ttl, 40s);
}

TEST(ServicePolicy, manual_approval_refuses_until_somebody_approves_and_lists_who_waits) {
    DirectoryDesk desk;
    const auto early = desk.enter("early", "old");
    authority::PolicyChange change;
    change.approval = lease::Approval::manual;
    ASSERT_EQ(desk.change(change), std::nullopt);
    const auto told = desk.enter("anna", "web");
    EXPECT_EQ(told.refused, Code::awaiting_approval);
    EXPECT_GT(told.retry_in, 0s);
    EXPECT_EQ(desk.renew("early", "old", early.token).refused, Code::awaiting_approval) << "renewals pass it too (R7)";
    desk.enter("anna", "web-2");
    auto waiting = desk.directory->awaiting_approval();
    ASSERT_EQ(waiting.size(), 2u);
    EXPECT_EQ(waiting[0].identity, desk.id("early"));
    EXPECT_EQ(waiting[1].identity, desk.id("anna"));
    EXPECT_EQ(waiting[1].name, "web-2");
    EXPECT_EQ(waiting[1].address, "192.0.2.1");
    bool approved = false;
    desk.authority.approve(desk.id("anna"),
                           [&](const authority::Answer<bool>& is_new) { approved = std::get<bool>(is_new); });
    EXPECT_TRUE(approved);
    EXPECT_EQ(desk.enter("anna", "web").refused, std::nullopt);
    EXPECT_EQ(desk.directory->awaiting_approval().size(), 1u);
    desk.pass(1h);
    EXPECT_TRUE(desk.directory->awaiting_approval().empty()) << "who does not come back is forgotten";
}

TEST(ServicePolicy, denial_is_a_ban_that_takes_the_approval_away) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.approval = lease::Approval::manual;
    ASSERT_EQ(desk.change(change), std::nullopt);
    desk.authority.approve(desk.id("anna"), [](const authority::Answer<bool>&) {});
    ASSERT_EQ(desk.enter("anna", "web").refused, std::nullopt);
    desk.authority.deny(desk.id("anna"), {"denied", 0}, [](const authority::Answer<lease::Ban>&) {});
    EXPECT_FALSE(desk.find("web"));
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::banned);
    EXPECT_EQ(desk.authority.policy().bans.at(desk.id("anna")).reason, "denied");
    EXPECT_TRUE(desk.directory->awaiting_approval().empty());
    desk.unban(desk.id("anna"));
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::awaiting_approval);
}

TEST(ServicePolicy, quota_of_a_holder_counts_its_services_and_nothing_that_others_take_in_its_name) {
    lease::Policy policy;
    policy.namespaces["~services"].leases_per_holder_max = 2;
    DirectoryDesk desk(policy);
    ASSERT_NE(desk.lock(desk.id("anna"), "one"), 0u);
    ASSERT_NE(desk.lock(desk.id("anna"), "two"), 0u);
    EXPECT_EQ(desk.enter("anna", "a").refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "b").refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "c").refused, Code::too_many_services);
    EXPECT_EQ(desk.enter("anna", "a").refused, std::nullopt) << "its own again";
}

TEST(ServicePolicy, is_not_that_of_locks) {  // R7
    lease::Policy policy;
    policy.leases_per_holder_max = 1;
    policy.name_pattern = *lease::NamePattern::compile("lock/.*");
    policy.hold_max = 20s;
    DirectoryDesk desk(policy);
    EXPECT_EQ(desk.enter("anna", "a").refused, std::nullopt);
    const auto web = desk.enter("anna", "web");
    EXPECT_EQ(web.refused, std::nullopt);
    for (int i = 0; i < 5; ++i) {
        desk.pass(8s);
        EXPECT_EQ(desk.renew("anna", "web", web.token).refused, std::nullopt);
    }
}

TEST(ServiceNameRules, deny_hides_at_once_refuses_every_update_and_lets_the_lease_run_out) {  // D5
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.enter("anna", "other");
    desk.put_rule("web", "anna", lease::NameRule::Kind::denied, "it is the shop's");
    EXPECT_FALSE(desk.find("web"));
    EXPECT_FALSE(desk.directory->served("web"));
    EXPECT_TRUE(desk.find("other")) << "only this name";
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].code, Code::name_denied);
    EXPECT_NE(desk.withdrawn[0].message.find("it is the shop's"), std::string::npos) << desk.withdrawn[0].message;
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::name_denied);
    const auto again = desk.enter("anna", "web");
    EXPECT_EQ(again.refused, Code::name_denied);
    EXPECT_NE(again.message.find("it is the shop's"), std::string::npos) << again.message;
    EXPECT_GT(again.retry_in, 0s);
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, Code::name_taken) << "it is still held";
    desk.pass(30s);
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::name_denied) << "however often it tries";
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, std::nullopt);
    EXPECT_TRUE(desk.find("web"));
}

TEST(ServiceNameRules, that_are_lifted_in_time_show_again_what_is_still_held) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.put_rule("web", "", lease::NameRule::Kind::denied);
    EXPECT_FALSE(desk.find("web"));
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, Code::name_denied) << "denied to everybody";
    EXPECT_EQ(desk.lift_rules("web"), 1u);
    EXPECT_TRUE(desk.find("web"));
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
    EXPECT_EQ(desk.lift_rules("web"), 0u);
}

TEST(ServiceNameRules, reservation_keeps_a_name_for_an_identity_and_takes_it_from_others) {
    DirectoryDesk desk;
    desk.enter("anna", "web");
    desk.put_rule("web", "ben", lease::NameRule::Kind::reserved);
    EXPECT_FALSE(desk.find("web"));
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::name_denied);
    desk.pass(30s);
    EXPECT_EQ(desk.enter("carla", "web", DirectoryDesk::over(3)).refused, Code::name_denied);
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, std::nullopt);
    EXPECT_EQ(desk.find("web")->identity, desk.id("ben"));
    desk.put_rule("web", "anna", lease::NameRule::Kind::denied);
    EXPECT_EQ(desk.lift_rules("web", "ben"), 1u) << "only what was said of ben";
    EXPECT_EQ(desk.authority.policy().name_rules.size(), 1u);
}

TEST(ServicePolicy, ban_tells_the_banned_its_reason) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.authority.ban(desk.id("anna"), {"sells spam", 0}, [](const authority::Answer<lease::Ban>&) {});
    EXPECT_NE(desk.withdrawn.at(0).message.find("sells spam"), std::string::npos) << desk.withdrawn[0].message;
    const auto refused = desk.renew("anna", "web", told.token);
    EXPECT_NE(refused.message.find("sells spam"), std::string::npos) << refused.message;
    desk.authority.ban("192.0.2.0/24", {"not from there", 0}, [](const authority::Answer<lease::Ban>&) {});
    desk.authority.ban("192.0.0.0/8", {"nor from there", 0}, [](const authority::Answer<lease::Ban>&) {});
    const auto from_there = desk.enter("ben", "db");
    EXPECT_EQ(from_there.refused, Code::banned);
    EXPECT_NE(from_there.message.find("not from there"), std::string::npos) << from_there.message;
}

TEST(ServicePolicy, bar_by_an_admin_is_refused_with_what_helps_and_nothing_from_outside_changes_a_service) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    const std::string resource = "@~services/web";
    EXPECT_EQ(authority::code_of(*desk.ask(authority::Desk::request("mallory", {{resource}}))),
              Code::reserved_namespace);
    EXPECT_EQ(authority::code_of(*desk.ask(authority::Desk::request("mallory", {{"plain"}, {"@~other/thing"}}))),
              Code::reserved_namespace);
    authority::RenewRequest renewal;
    renewal.holder = desk.id("anna");
    renewal.leases = {{{resource, told.token}, {}}};
    std::optional<Code> code;
    desk.authority.renew(renewal, [&](const std::vector<authority::RenewAnswer>& answers) {
        code = std::get<authority::Refused>(answers.at(0).result).code;
    });
    EXPECT_EQ(code, Code::reserved_namespace);
    renewal.leases.clear();
    desk.authority.renew_all(renewal, [&](const authority::Answer<authority::RenewAllAnswer>& answer) {
        code = std::get<authority::Refused>(std::get<authority::RenewAllAnswer>(answer).answers.at(0).result).code;
    });
    EXPECT_EQ(code, Code::reserved_namespace);
    desk.authority.release({{}, {resource, told.token}, desk.id("anna")},
                           [&](const authority::Answer<authority::ReleaseAnswer>& answer) {
                               code = std::get<authority::Refused>(answer).code;
                           });
    EXPECT_EQ(code, Code::reserved_namespace);
    for (const bool takes : {true, false}) {
        desk.authority.single_record().update(
            {.resource = resource, .holder = desk.id("anna"), .takes = takes},
            [&](authority::RecordTransaction& at) {
                if (takes)
                    at.replace(lease::Predicate::mutates, 30s);
                else
                    at.release(told.token);
            },
            [&](const authority::SingleRecordAnswer& answer) { code = answer.refused; });
        EXPECT_EQ(code, Code::reserved_namespace);
    }
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
    code.reset();
    desk.authority.bar({resource, told.token}, [&](const authority::Answer<authority::HeldLease>& answer) {
        code = std::get<authority::Refused>(answer).code;
    });
    EXPECT_EQ(code, Code::reserved_namespace);
    EXPECT_NE(advice_of(*code).find("holdfast service deny"), std::string::npos);
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
    code.reset();
    desk.authority.revoke({resource, told.token}, [&](const authority::Answer<lease::Lease>& answer) {
        code = std::get<authority::Refused>(answer).code;
    });
    EXPECT_EQ(code, Code::reserved_namespace);
    desk.pass(0s);
    EXPECT_TRUE(desk.find("web"));
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
}

}  // namespace
}  // namespace holdfast::discovery::directory
