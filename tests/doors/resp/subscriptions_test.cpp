#include "doors/resp/subscriptions.h"

#include <gtest/gtest.h>

#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using authority::EventKind;

/// Different patterns that all match every channel.
std::string pattern_of(int number) {
    return std::string(static_cast<std::size_t>(number % 250), '*') + "?" +
           std::string(static_cast<std::size_t>(number / 250 + 1), '*');
}

TEST(Subscriptions, compare_each_pattern_once_with_each_channel) {
    Subscriptions subscriptions;
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < 1000; ++i)
            ASSERT_TRUE(subscriptions.add_pattern(pattern_of(i)));
    EXPECT_EQ(subscriptions.size(), 1000U);
    EXPECT_EQ(subscriptions.comparisons(), 1000U * event_kinds.size());
    for (int i = 0; i < 1000; ++i)
        subscriptions.remove_pattern(pattern_of(i));
    EXPECT_EQ(subscriptions.size(), 0U);
    EXPECT_EQ(subscriptions.comparisons(), 1000U * event_kinds.size());
}

TEST(Subscriptions, know_how_each_kind_of_event_reaches_them) {
    Subscriptions subscriptions;
    EXPECT_FALSE(subscriptions.route(EventKind::granted).any());
    subscriptions.add_channel("lease:granted");
    subscriptions.add_channel("nothing");
    subscriptions.add_pattern("lease:re*");
    subscriptions.add_pattern("*");
    EXPECT_TRUE(subscriptions.route(EventKind::granted).by_name);
    EXPECT_EQ(subscriptions.route(EventKind::granted).patterns, (std::set<std::string_view>{"*"}));
    EXPECT_FALSE(subscriptions.route(EventKind::released).by_name);
    EXPECT_EQ(subscriptions.route(EventKind::released).patterns, (std::set<std::string_view>{"*", "lease:re*"}));
    subscriptions.remove_channel("lease:granted");
    subscriptions.remove_pattern("*");
    EXPECT_FALSE(subscriptions.route(EventKind::granted).any());
    EXPECT_TRUE(subscriptions.route(EventKind::revoked).any());
    subscriptions.clear();
    EXPECT_FALSE(subscriptions.route(EventKind::revoked).any());
    EXPECT_EQ(subscriptions.size(), 0U);
}

TEST(Subscriptions, of_a_thousand_patterns_are_told_of_an_event) {
    TestRespDoor door;
    auto client = door.connect();
    std::vector<std::string> words{"PSUBSCRIBE"};
    for (int i = 0; i < 1000; ++i)
        words.push_back(pattern_of(i));
    EXPECT_EQ(client.ask(words).items.size(), 3U);
    for (int i = 1; i < 1000; ++i)
        ASSERT_EQ(client.read().items.size(), 3U);
    auto other = door.connect();
    take(other, "r", "bob");
    EXPECT_EQ(client.read().items.at(0).text, "pmessage");
}

TEST(Scanning, is_refused_for_a_pattern_that_takes_too_long) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string key(4000, 'a');
    EXPECT_EQ(client.ask({"SET", key, "v", "PX", "60000"}).text, "OK");
    std::string slow = "*";
    for (int i = 0; i < 1000; ++i)
        slow += "[ab]?";
    slow += "c";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"KEYS", slow}, {"SCAN", "0", "MATCH", slow}}) {
        const auto reply = client.ask(words);
        EXPECT_EQ(code_of(reply), "ERR") << words[0];
        EXPECT_NE(reply.text.find("takes too long to match"), std::string::npos) << reply.text;
    }
    EXPECT_EQ(client.ask({"KEYS", "*a*a*a*a*a*"}).items.size(), 1U);
}

TEST(Scanning, shows_all_keys_once_though_a_page_has_a_limit_of_bytes) {
    TestRespDoor door;
    auto client = door.connect();
    for (int i = 0; i < 200; ++i)
        ASSERT_EQ(client.ask({"SET", std::to_string(i) + std::string(4000, 'k'), "v", "PX", "60000"}).text, "OK");
    EXPECT_EQ(client.ask({"KEYS", "*"}).items.size(), 200U);
    std::multiset<std::string> shown;
    std::string cursor = "0";
    std::size_t pages = 0;
    do {
        const auto page = client.ask({"SCAN", cursor, "COUNT", "1000"});
        cursor = page.items.at(0).text;
        for (const auto& key : page.items.at(1).items)
            shown.insert(key.text);
        ++pages;
    } while (cursor != "0");
    EXPECT_GT(pages, 2U);
    EXPECT_EQ(shown.size(), 200U);
    EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), 200U);
}

}  // namespace
}  // namespace holdfast::doors::resp
