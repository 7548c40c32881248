#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"

namespace holdfast::discovery::directory {
namespace {

using Change = Directory::Change;

TEST(StaleService, is_one_whose_publisher_missed_two_renewals) {  // D4
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.pass(10s);
    EXPECT_TRUE(desk.find("web")->connected) << "the second one may be on its way";
    desk.pass(3s);
    EXPECT_FALSE(desk.find("web")->connected);
    EXPECT_FALSE(desk.page().services.at(0).connected);
    EXPECT_FALSE(desk.directory->served("web")) << "consumers are told at once, not after the wait for an answer";
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
    EXPECT_TRUE(desk.find("web")->connected);
    EXPECT_TRUE(desk.directory->served("web"));
    desk.pass(13s);
    EXPECT_FALSE(desk.find("web")->connected) << "and again";
}

TEST(StaleService, is_not_one_whose_renewals_are_refused_as_long_as_it_asks) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    authority::PolicyChange change;
    change.name_space = lease::services_namespace;
    change.name_pattern = "db";
    ASSERT_EQ(desk.change(change), std::nullopt);
    for (int i = 0; i < 5; ++i) {
        desk.pass(5s);
        EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::name_refused);
        EXPECT_TRUE(desk.find("web")->connected) << i;
        EXPECT_TRUE(desk.directory->served("web")) << "it is held until its end";
    }
    desk.pass(5s);
    EXPECT_FALSE(desk.find("web"));
}

TEST(StaleService, is_not_kept_fresh_by_others) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    for (int i = 0; i < 3; ++i) {
        desk.pass(5s);
        desk.renew("mallory", "web", told.token, DirectoryDesk::over(1));
        desk.renew("anna", "web", told.token + 1, DirectoryDesk::over(1));
    }
    EXPECT_FALSE(desk.find("web")->connected);
}

TEST(StaleService, is_one_that_its_publisher_says_it_does_not_serve_until_it_renews) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    desk.pass(1s);
    desk.directory->not_served("web", 2);
    EXPECT_TRUE(desk.find("web")->connected) << "somebody else's word";
    desk.directory->not_served("web", 1);
    EXPECT_FALSE(desk.find("web")->connected);
    desk.pass(1s);
    desk.renew("anna", "web", told.token);
    EXPECT_TRUE(desk.find("web")->connected);
    desk.pass(13s);
    EXPECT_FALSE(desk.find("web")->connected) << "it is watched as before";
}

TEST(StaleService, is_told_to_those_who_watch_and_so_is_its_return) {
    DirectoryDesk desk;
    std::vector<std::string> heard;
    desk.directory->watch([&](Change change, const ServiceEntry& entry) {
        heard.push_back((change == Change::updated ? "updated "
                         : change == Change::gone  ? "gone "
                                                   : "registered ") +
                        std::string(entry.connected ? "connected" : "stale"));
    });
    const auto told = desk.enter("anna", "web");
    desk.pass(13s);
    EXPECT_EQ(desk.directory->counts().connected, 1u) << "its connection is still there";
    desk.renew("anna", "web", told.token);
    desk.leave("anna", "web", told.token);
    EXPECT_EQ(heard,
              (std::vector<std::string>{"registered connected", "updated stale", "updated connected", "gone stale"}));
}

TEST(StaleService, by_a_short_ttl_is_not_before_five_seconds_of_silence) {
    DirectoryDesk desk;
    authority::PolicyChange change;
    change.ttl_max = 8s;
    change.ttl_default = 8s;
    ASSERT_EQ(desk.change(change), std::nullopt);
    desk.enter("anna", "web");
    desk.pass(4900ms);
    EXPECT_TRUE(desk.find("web")->connected);
    desk.pass(200ms);
    EXPECT_FALSE(desk.find("web")->connected);
}

TEST(StaleService, is_one_whose_relays_node_cannot_be_reached) {
    DirectoryDesk desk;
    lease::Lease lease;
    lease.token = 5;
    lease.holder = desk.id("anna");
    lease.ttl = 30s;
    lease.expires_at = desk.now + 30s;
    lease.metadata = R"({"relay":"10.0.0.6:7403","life":99,"connection":3,"node":2})";
    desk.authority.listener().on_changed("@~services/web", lease, store::LeaseChange::granted);
    desk.enter("ben", "here");
    std::vector<std::string> heard;
    desk.directory->watch([&](Change, const ServiceEntry& entry) {
        heard.push_back(entry.name + (entry.connected ? " connected" : " stale"));
    });
    desk.pass(0s);
    const auto web = [&] { return desk.page().services.at(1); };
    EXPECT_TRUE(web().connected);
    desk.directory->node_is(3, false);
    EXPECT_TRUE(web().connected) << "another's";
    desk.directory->node_is(2, false);
    EXPECT_FALSE(web().connected);
    EXPECT_EQ(web().relay, "") << "nobody is sent there";
    EXPECT_TRUE(desk.find("here")->connected);
    desk.directory->node_is(2, true);
    EXPECT_TRUE(web().connected);
    EXPECT_EQ(heard, (std::vector<std::string>{"web stale", "web connected"}));
    desk.pass(13s);
    EXPECT_FALSE(web().connected) << "two renewals are missing, as on its own node";
    EXPECT_EQ(web().relay, "10.0.0.6:7403") << "which knows best";
}

TEST(StaleService, is_not_revived_by_a_store_that_reads_a_slightly_later_end) {  // as a quorum does (Q6)
    DirectoryDesk desk;
    lease::Lease lease;
    lease.token = 5;
    lease.holder = desk.id("anna");
    lease.ttl = 30s;
    lease.expires_at = desk.now + 30s;
    lease.metadata = R"({"relay":"10.0.0.6:7403","life":99,"connection":3,"node":2})";
    const auto tell = [&](store::LeaseChange change) {
        desk.authority.listener().on_changed("@~services/web", lease, change);
        desk.pass(0s);
    };
    tell(store::LeaseChange::granted);
    const auto web = [&] { return desk.page().services.at(0); };
    const auto last_seen_ms = web().last_seen_ms;
    desk.pass(13s);
    for (int read = 0; read < 5; ++read) {
        lease.expires_at += 100ms;
        tell(store::LeaseChange::renewed);
        EXPECT_FALSE(web().connected) << read;
        EXPECT_EQ(web().last_seen_ms, last_seen_ms) << read;
    }
    lease.expires_at = desk.now + 30s;
    tell(store::LeaseChange::renewed);
    EXPECT_TRUE(web().connected);
    EXPECT_EQ(web().last_seen_ms, last_seen_ms + 13'000);
    lease.ttl = 8s;  // by another policy
    lease.expires_at = desk.now + 5s + 8s;
    desk.pass(5s);
    tell(store::LeaseChange::renewed);
    EXPECT_EQ(web().expires_in, 8s);
    EXPECT_TRUE(web().connected);
}

struct Retries : DirectoryDesk {
    Retries() {
        directory.reset();
        directory = std::make_unique<Directory>(
            Directory::Parts{.authority = authority,
                             .relay = life,
                             .wall_ms = 1'000'000,
                             .started_at = now,
                             .withdraw = [this](const Withdrawal& what) { withdrawn.push_back(what); },
                             .may_retry = [this](const RetryNotice& notice) { told.push_back(notice); }});
        directory->relay_address("10.0.0.5:7403");
        pass(0s);
    }
    /// Who was told since, as CONNECTION NAME.
    std::vector<std::string> take() {
        std::vector<std::string> all;
        for (const RetryNotice& notice : std::exchange(told, {}))
            all.push_back(std::to_string(notice.connection) + " " + notice.name);
        return all;
    }
    std::vector<RetryNotice> told;
};
using Told = std::vector<std::string>;

TEST(RetryNotice, comes_when_a_ban_is_lifted_and_only_then) {
    Retries desk;
    const auto web = desk.enter("anna", "web");
    desk.ban(desk.id("anna"));
    EXPECT_EQ(desk.enter("anna", "db").refused, Code::banned);
    desk.ban("mallory");
    desk.unban("mallory");
    EXPECT_EQ(desk.take(), Told{}) << "nothing has changed for it";
    desk.unban(desk.id("anna"));
    EXPECT_EQ(desk.take(), (Told{"1 db", "1 web"})) << "what it was refused, and what was hidden";
    EXPECT_EQ(desk.renew("anna", "web", web.token).refused, std::nullopt);
    desk.ban("mallory");
    EXPECT_EQ(desk.take(), Told{}) << "once";
}

TEST(RetryNotice, comes_when_an_address_is_banned_no_more) {
    Retries desk;
    desk.ban("192.0.2.0/24");
    desk.ban("192.0.0.0/8");
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::banned);
    desk.unban("192.0.2.0/24");
    EXPECT_EQ(desk.take(), Told{}) << "the other one still covers it";
    desk.unban("192.0.0.0/8");
    EXPECT_EQ(desk.take(), Told{"1 web"});
}

TEST(RetryNotice, comes_with_an_approval_another_pattern_or_a_lifted_denial) {
    Retries desk;
    authority::PolicyChange change;
    change.name_space = lease::services_namespace;
    change.approval = lease::Approval::manual;
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::awaiting_approval);
    EXPECT_EQ(desk.enter("ben", "db", DirectoryDesk::over(2)).refused, Code::awaiting_approval);
    desk.authority.approve(desk.id("anna"), [](const authority::Answer<bool>&) {});
    EXPECT_EQ(desk.take(), Told{"1 web"});
    change.approval = lease::Approval::automatic;
    change.name_pattern = "x.*";
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.take(), Told{}) << "approved, but not with this name";
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::name_refused);
    change.name_pattern = "";
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.take(), (Told{"1 web", "2 db"}));
    desk.put_rule("web", "", lease::NameRule::Kind::denied);
    EXPECT_EQ(desk.enter("anna", "web").refused, Code::name_denied);
    desk.lift_rules("web");
    EXPECT_EQ(desk.take(), Told{"1 web"});
}

TEST(RetryNotice, comes_when_a_name_is_free) {
    Retries desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, Code::name_taken);
    EXPECT_EQ(desk.come_back("anna", "web", 77, DirectoryDesk::over(3)).refused, Code::superseded);
    EXPECT_EQ(desk.enter("ben", "other", DirectoryDesk::over(2)).refused, std::nullopt);
    desk.leave("ben", "other", desk.find("other")->token, DirectoryDesk::over(2));
    EXPECT_EQ(desk.take(), Told{}) << "another name";
    desk.leave("anna", "web", told.token, DirectoryDesk::over(1));
    EXPECT_EQ(desk.told.size(), 2u);
    EXPECT_EQ(desk.told.at(0).within, 1ms) << "two that are told at once do not come at once";
    EXPECT_EQ(desk.take(), (Told{"2 web", "3 web"}));
}

TEST(RetryNotice, comes_to_one_for_each_place_that_becomes_free) {
    Retries desk;
    authority::PolicyChange change;
    change.name_space = lease::services_namespace;
    change.leases_per_holder_max = 2;
    ASSERT_EQ(desk.change(change), std::nullopt);
    const auto a = desk.enter("anna", "a");
    const auto b = desk.enter("anna", "b");
    const auto other = desk.enter("ben", "other", DirectoryDesk::over(2));
    for (const char* name : {"c", "d", "e"})
        EXPECT_EQ(desk.enter("anna", name).refused, Code::too_many_services);
    change.name_pattern = ".*";
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.take(), Told{}) << "there is no more room than before";
    desk.leave("anna", "a", a.token);
    EXPECT_EQ(desk.take(), Told{"1 c"});
    EXPECT_EQ(desk.enter("anna", "c").refused, std::nullopt);
    desk.pass(31s);
    EXPECT_EQ(desk.take(), (Told{"1 d", "1 e"})) << "what ran out leaves room, too";
    EXPECT_EQ(desk.enter("anna", "d").refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "e").refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "f").refused, Code::too_many_services);
    change.leases_per_holder_max = 3;
    ASSERT_EQ(desk.change(change), std::nullopt);
    EXPECT_EQ(desk.take(), Told{"1 f"});
}

TEST(RetryNotice, comes_when_a_hidden_lease_has_run_out) {
    Retries desk;
    desk.enter("anna", "web", DirectoryDesk::over(1));
    desk.put_rule("web", "anna", lease::NameRule::Kind::denied);
    ASSERT_EQ(desk.withdrawn.size(), 1U);
    EXPECT_EQ(desk.withdrawn[0].message, advice_of(Code::name_denied)) << "no reason was given";
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, Code::name_taken);
    desk.pass(30s);
    EXPECT_EQ(desk.take(), Told{"2 web"});
    EXPECT_EQ(desk.enter("ben", "web", DirectoryDesk::over(2)).refused, std::nullopt);
}

TEST(RetryNotice, comes_to_nobody_that_has_left_or_has_what_it_wanted) {
    Retries desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    desk.enter("ben", "web", DirectoryDesk::over(2));
    desk.enter("carla", "web", DirectoryDesk::over(3));
    desk.directory->connection_closed(2);
    desk.leave("anna", "web", told.token, DirectoryDesk::over(1));
    EXPECT_EQ(desk.take(), Told{"3 web"});
    const auto has = desk.enter("carla", "web", DirectoryDesk::over(3));
    ASSERT_EQ(has.refused, std::nullopt);
    desk.leave("carla", "web", has.token, DirectoryDesk::over(3));
    EXPECT_EQ(desk.take(), Told{});
}

TEST(RetryNotice, is_not_kept_for_a_connection_that_closes_when_it_hears_of_the_ban) {
    DirectoryDesk desk;
    desk.directory.reset();
    std::unique_ptr<Directory>& directory = desk.directory;
    int notices = 0;
    directory = std::make_unique<Directory>(
        Directory::Parts{.authority = desk.authority,
                         .relay = DirectoryDesk::life,
                         .started_at = desk.now,
                         .withdraw = [&](const Withdrawal& lost) { directory->connection_closed(lost.connection); },
                         .may_retry = [&](const RetryNotice&) { ++notices; }});
    desk.pass(0s);
    for (const char* name : {"a", "b", "c"})
        ASSERT_EQ(desk.enter("anna", name).refused, std::nullopt);
    desk.ban(desk.id("anna"));
    desk.unban(desk.id("anna"));
    EXPECT_EQ(notices, 0);
}

TEST(RetryNotice, is_kept_for_so_many_names_of_a_connection) {
    Retries desk;
    desk.ban(desk.id("anna"));
    for (int i = 0; i < 1200; ++i)
        ASSERT_EQ(desk.enter("anna", "web-" + std::to_string(i)).refused, Code::banned);
    desk.unban(desk.id("anna"));
    EXPECT_EQ(desk.take().size(), 1000u) << "the others poll";
}

}  // namespace
}  // namespace holdfast::discovery::directory
