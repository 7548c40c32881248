#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"

namespace holdfast::discovery::directory {
namespace {

TEST(Registration, makes_a_name_findable_with_all_that_was_said_of_it) {
    DirectoryDesk desk;
    Update update = desk.named("web");
    update.address = "web.example:443";
    update.alpn = {"h2"};
    update.metadata = {{"version", "7"}};
    const auto told = desk.say("anna", update);
    ASSERT_EQ(told.refused, std::nullopt);
    EXPECT_EQ(told.name, "web");
    EXPECT_GT(told.token, 0u);
    EXPECT_EQ(told.ttl, 30s);
    EXPECT_EQ(told.expires_in, 30s);
    EXPECT_EQ(told.renew_in, 5s);
    EXPECT_EQ(told.relay, DirectoryDesk::life);
    const auto entry = desk.find("web");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->identity, desk.id("anna"));
    EXPECT_EQ(entry->token, told.token);
    EXPECT_EQ(entry->address, "web.example:443");
    EXPECT_EQ(entry->alpn, std::vector<std::string>{"h2"});
    EXPECT_EQ(entry->metadata.at(0).second, "7");
    EXPECT_TRUE(entry->connected);
    EXPECT_EQ(entry->relay, "10.0.0.5:7403");
    EXPECT_EQ(entry->expires_in, 30s);
    EXPECT_EQ(desk.names(), std::vector<std::string>{"web"});
}

TEST(Registration, of_a_name_that_another_identity_has_is_refused) {
    DirectoryDesk desk;
    desk.enter("anna", "web");
    const auto told = desk.enter("ben", "web", DirectoryDesk::over(2));
    EXPECT_EQ(told.refused, Code::name_taken);
    EXPECT_GT(told.retry_in, 0s);
    EXPECT_EQ(desk.find("web")->identity, desk.id("anna"));
    EXPECT_TRUE(desk.withdrawn.empty());
}

TEST(Registration, by_the_same_identity_updates_and_keeps_first_seen) {
    DirectoryDesk desk;
    const auto first = desk.enter("anna", "web");
    desk.pass(7s);
    Update update = desk.named("web");
    update.metadata = {{"version", "8"}};
    const auto second = desk.say("anna", update);
    ASSERT_EQ(second.refused, std::nullopt);
    EXPECT_GT(second.token, first.token);
    const auto entry = desk.find("web");
    EXPECT_EQ(entry->metadata.at(0).second, "8");
    EXPECT_EQ(entry->first_seen_ms, 1'000'000);
    EXPECT_EQ(entry->last_seen_ms, 1'007'000);
    EXPECT_TRUE(desk.withdrawn.empty()) << "its own wish";
}

TEST(Registration, without_a_name_gets_one_that_does_not_collide) {
    DirectoryDesk desk;
    const auto one = desk.enter("anna", "");
    const auto other = desk.enter("anna", "");
    ASSERT_EQ(one.refused, std::nullopt);
    ASSERT_EQ(other.refused, std::nullopt);
    EXPECT_NE(one.name, other.name);
    EXPECT_EQ(one.name.front(), '~');
    EXPECT_EQ(one.name.size(), 17u);
    EXPECT_EQ(desk.names().size(), 2u);
    EXPECT_EQ(desk.renew("anna", one.name, one.token).refused, std::nullopt);
    EXPECT_EQ(desk.enter("ben", one.name).refused, Code::invalid_name);
    EXPECT_EQ(desk.come_back("anna", one.name, one.token).refused, std::nullopt);
}

TEST(Registration, of_two_spellings_of_one_name_conflicts) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "cafe\xcc\x81");
    EXPECT_EQ(told.name, "caf\xc3\xa9");
    EXPECT_EQ(desk.enter("ben", "caf\xc3\xa9").refused, Code::name_taken);
    EXPECT_TRUE(desk.find("cafe\xcc\x81"));
    EXPECT_TRUE(desk.directory->served("cafe\xcc\x81"));
    EXPECT_EQ(desk.directory->served("cafe\xcc\x81")->name, "caf\xc3\xa9");
}

TEST(Registration, that_expired_blocks_nobody) {
    DirectoryDesk desk;
    const auto first = desk.enter("anna", "web");
    desk.pass(30s);
    EXPECT_FALSE(desk.find("web"));
    EXPECT_EQ(desk.renew("anna", "web", first.token).refused, Code::lease_expired);
    EXPECT_EQ(desk.enter("ben", "web").refused, std::nullopt);
    EXPECT_EQ(desk.renew("anna", "web", first.token).refused, Code::name_taken)
        << "not allowed, which is not the same (D3)";
}

TEST(Registration, lasts_as_long_as_it_is_renewed) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    for (int i = 0; i < 20; ++i) {
        desk.pass(5s);
        const auto renewed = desk.renew("anna", "web", told.token);
        ASSERT_EQ(renewed.refused, std::nullopt);
        EXPECT_EQ(renewed.token, told.token);
        EXPECT_EQ(renewed.expires_in, 30s);
    }
    const auto entry = desk.find("web");
    EXPECT_EQ(entry->first_seen_ms, 1'000'000);
    EXPECT_EQ(entry->last_seen_ms, 1'100'000);
    EXPECT_EQ(desk.page().services.at(0).expires_in, 30s);
}

TEST(Registration, that_is_given_up_is_gone_at_once_and_twice_is_as_good) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    EXPECT_EQ(desk.leave("anna", "web", told.token).refused, std::nullopt);
    EXPECT_FALSE(desk.find("web"));
    EXPECT_TRUE(desk.names().empty());
    EXPECT_EQ(desk.leave("anna", "web", told.token).refused, std::nullopt);
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, Code::lease_released);
    EXPECT_TRUE(desk.withdrawn.empty());
}

TEST(Registration, cannot_be_given_up_by_another_identity_nor_by_an_earlier_token) {
    DirectoryDesk desk;
    const auto first = desk.enter("anna", "web");
    EXPECT_EQ(desk.leave("ben", "web", first.token).refused, Code::name_taken);
    const auto second = desk.enter("anna", "web");
    EXPECT_EQ(desk.leave("anna", "web", first.token).refused, std::nullopt);
    EXPECT_EQ(desk.find("web")->token, second.token);
}

TEST(Registration, of_two_publishers_of_one_identity_the_later_wins_and_the_other_does_not_chase_it) {
    DirectoryDesk desk;
    const auto first = desk.enter("anna", "web", DirectoryDesk::over(1));
    const auto second = desk.enter("anna", "web", DirectoryDesk::over(2));
    ASSERT_EQ(second.refused, std::nullopt);
    ASSERT_EQ(desk.withdrawn.size(), 1u) << "told at once";
    EXPECT_EQ(desk.withdrawn[0].connection, 1u);
    EXPECT_EQ(desk.withdrawn[0].token, first.token);
    EXPECT_EQ(desk.withdrawn[0].code, Code::superseded);
    EXPECT_EQ(desk.directory->served("web")->connection, 2u);
    for (int i = 0; i < 5; ++i) {
        desk.pass(5s);
        EXPECT_EQ(desk.renew("anna", "web", first.token, DirectoryDesk::over(1)).refused, Code::superseded);
        EXPECT_EQ(desk.come_back("anna", "web", first.token, DirectoryDesk::over(1)).refused, Code::superseded);
        EXPECT_EQ(desk.renew("anna", "web", second.token, DirectoryDesk::over(2)).refused, std::nullopt);
    }
    desk.directory->connection_closed(2);
    EXPECT_EQ(desk.come_back("anna", "web", first.token, DirectoryDesk::over(1)).refused, std::nullopt);
    EXPECT_EQ(desk.directory->served("web")->connection, 1u);
}

TEST(Registration, that_returns_with_its_own_token_takes_itself_over) {
    DirectoryDesk desk;
    const auto first = desk.enter("anna", "web", DirectoryDesk::over(1));
    const auto again = desk.come_back("anna", "web", first.token, DirectoryDesk::over(2));
    EXPECT_EQ(again.refused, std::nullopt);
    EXPECT_GT(again.token, first.token);
    EXPECT_EQ(desk.directory->served("web")->connection, 2u);
}

TEST(Registration, over_http_is_stale_and_cannot_be_reached_until_it_comes_over_a_connection) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(0));
    ASSERT_EQ(told.refused, std::nullopt);
    EXPECT_FALSE(desk.find("web")->connected);
    EXPECT_EQ(desk.find("web")->relay, "");
    EXPECT_FALSE(desk.directory->served("web"));
    EXPECT_EQ(desk.renew("anna", "web", told.token, DirectoryDesk::over(0)).refused, std::nullopt);
    EXPECT_EQ(desk.renew("anna", "web", told.token, DirectoryDesk::over(3)).refused, Code::unknown_lease)
        << "it must register over the connection";
    EXPECT_EQ(desk.come_back("anna", "web", told.token, DirectoryDesk::over(3)).refused, std::nullopt);
    EXPECT_TRUE(desk.find("web")->connected);
    EXPECT_EQ(desk.find("web")->first_seen_ms, 1'000'000);
}

TEST(Registration, is_listed_by_name_pattern_and_page) {
    DirectoryDesk desk;
    for (const char* name : {"web-2", "db", "web-1", "web-3"})
        desk.enter("anna", name);
    EXPECT_EQ(desk.names(), (std::vector<std::string>{"db", "web-1", "web-2", "web-3"}));
    EXPECT_EQ(desk.names({.name_glob = "web-*", .after = "", .limit = 2}),
              (std::vector<std::string>{"web-1", "web-2"}));
    EXPECT_FALSE(desk.page({.name_glob = "web-*", .after = "", .limit = 2}).next.empty());
    EXPECT_EQ(desk.names({.name_glob = "web-*", .after = "web-2", .limit = 2}), (std::vector<std::string>{"web-3"}));
    EXPECT_TRUE(desk.page({.name_glob = "web-*", .after = "web-2", .limit = 2}).next.empty());
    EXPECT_EQ(desk.names({.name_glob = "*b"}), (std::vector<std::string>{"db"}));
}

TEST(Registration, with_much_metadata_is_listed_in_short_pages) {
    DirectoryDesk desk;
    for (int i = 100; i < 300; ++i) {
        Update update = desk.named("web-" + std::to_string(i));
        update.metadata = {{"text", std::string(4000, 'x')}};
        ASSERT_EQ(desk.say("anna", update).refused, std::nullopt);
    }
    std::size_t listed = 0, pages = 0;
    std::string after;
    bool more = true;
    while (more) {
        const ServicePage page = desk.page({.name_glob = "", .after = after, .limit = 1000});
        ASSERT_FALSE(page.services.empty());
        EXPECT_LE(page.services.size(), 66U);
        listed += page.services.size();
        after = page.next;
        more = !after.empty();
        ++pages;
    }
    EXPECT_EQ(listed, 200U);
    EXPECT_GT(pages, 3U);
}

TEST(Registration, is_looked_for_by_a_costly_pattern_in_pages_of_bounded_work) {
    DirectoryDesk desk;
    const std::string tail(200, 'a');
    for (int i = 100; i < 300; ++i)
        ASSERT_EQ(desk.enter("anna", std::to_string(i) + tail).refused, std::nullopt);
    ASSERT_EQ(desk.enter("anna", "999" + tail + "b").refused, std::nullopt);
    const std::string glob = "*" + std::string(60, 'a') + "b";  // each name is compared from each of its bytes on
    std::vector<std::string> found;
    std::string after;
    std::size_t pages = 0;
    do {
        const ServicePage page = desk.page({.name_glob = glob, .after = after, .limit = 1000});
        for (const ServiceEntry& entry : page.services)
            found.push_back(entry.name);
        EXPECT_TRUE(page.next.empty() || page.next > after) << "every page goes on";
        after = page.next;
        ++pages;
    } while (!after.empty());
    EXPECT_EQ(found, std::vector<std::string>{"999" + tail + "b"});
    EXPECT_GT(pages, 1U);
}

TEST(Registration, of_what_cannot_be_a_name_or_an_advert_says_which) {
    DirectoryDesk desk;
    EXPECT_EQ(desk.enter("anna", "a/b").refused, Code::invalid_name);
    Update update = desk.named("web");
    update.alpn = {""};
    EXPECT_EQ(desk.say("anna", update).refused, Code::invalid_alpn);
    update = desk.named("web");
    update.metadata = {{"", "x"}};
    EXPECT_EQ(desk.say("anna", update).refused, Code::invalid_metadata);
    SignedUpdate garbage = desk.signed_by("anna", desk.named("web"));
    garbage.request = "\xff\xff";
    EXPECT_EQ(desk.send(garbage).refused, Code::invalid_argument);
    EXPECT_EQ(desk.directory->counts().refused, 4u);
    EXPECT_EQ(desk.directory->counts().updates, 4u);
}

TEST(Registration, is_refused_while_the_server_recovers_or_stops) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.authority.stop();
    EXPECT_EQ(desk.enter("ben", "db").refused, Code::stopping);
    EXPECT_EQ(desk.leave("anna", "web", told.token).refused, std::nullopt);
}

TEST(Registration, is_nothing_that_an_agent_of_the_same_name_can_touch) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    ASSERT_TRUE(desk.agent(desk.id("anna")));
    EXPECT_EQ(std::get<std::size_t>(desk.restarting(desk.id("anna"))), 0u) << "nothing is marked";
    EXPECT_EQ(desk.renew("anna", "web", told.token).refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "db").refused, std::nullopt);
}

TEST(Registration, from_before_is_known_to_a_directory_that_opens_later) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    desk.directory = desk.open(0xbeef);
    desk.directory->relay_address("10.0.0.5:7403");
    desk.pass(1s);
    ASSERT_EQ(desk.names(), std::vector<std::string>{"web"});
    EXPECT_FALSE(desk.find("web")->connected) << "its connection was with an earlier life";
    EXPECT_FALSE(desk.directory->served("web"));
    EXPECT_EQ(desk.renew("anna", "web", told.token, DirectoryDesk::over(1)).refused, Code::unknown_lease);
    EXPECT_EQ(desk.come_back("anna", "web", told.token, DirectoryDesk::over(1)).refused, std::nullopt);
    EXPECT_TRUE(desk.directory->served("web"));
}

}  // namespace
}  // namespace holdfast::discovery::directory
