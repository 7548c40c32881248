#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"

namespace holdfast::discovery::directory {
namespace {

using Change = Directory::Change;

struct Watched {
    explicit Watched(DirectoryDesk& of) : desk(of) {
        number = desk.directory->watch([this](Change change, const ServiceEntry& entry) {
            static constexpr const char* words[] = {"registered ", "updated ", "gone "};
            heard.push_back(words[static_cast<int>(change)] + entry.name + " " + std::to_string(entry.token));
            last = entry;
        });
    }
    std::vector<std::string> take() { return std::exchange(heard, {}); }

    DirectoryDesk& desk;
    std::uint64_t number = 0;
    std::vector<std::string> heard;
    ServiceEntry last;
};

using Heard = std::vector<std::string>;

std::string word(const char* what, const UpdateResponse& told) {
    return std::string(what) + " " + told.name + " " + std::to_string(told.token);
}

TEST(ServiceWatch, hears_of_what_comes_changes_and_goes) {
    DirectoryDesk desk;
    Watched watched(desk);
    const auto first = desk.enter("anna", "web");
    EXPECT_EQ(watched.take(), Heard{word("registered", first)});
    desk.renew("anna", "web", first.token);
    EXPECT_EQ(watched.take(), Heard{}) << "a renewal changes nothing for consumers";
    const auto second = desk.enter("anna", "web", DirectoryDesk::over(2));
    EXPECT_EQ(watched.take(), Heard{word("updated", second)});
    desk.leave("anna", "web", second.token, DirectoryDesk::over(2));
    EXPECT_EQ(watched.take(), Heard{word("gone", second)});
    EXPECT_EQ(watched.last.identity, desk.id("anna")) << "as it was last known";
    const auto third = desk.enter("ben", "web");
    desk.pass(30s);
    EXPECT_EQ(watched.take(), (Heard{word("registered", third), word("gone", third)}));
}

TEST(ServiceWatch, hears_of_a_ban_as_gone_and_of_its_lifting_as_registered) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    Watched watched(desk);
    desk.ban(desk.id("anna"));
    EXPECT_EQ(watched.take(), Heard{word("gone", told)});
    desk.ban("203.0.113.9");
    EXPECT_EQ(watched.take(), Heard{});
    desk.unban(desk.id("anna"));
    EXPECT_EQ(watched.take(), Heard{word("registered", told)});
    desk.ban(desk.id("anna"));
    watched.take();
    desk.pass(30s);
    EXPECT_EQ(watched.take(), Heard{}) << "what is hidden cannot go";
}

TEST(ServiceWatch, hears_of_a_closed_connection_and_of_nothing_when_a_revocation_is_refused) {
    DirectoryDesk desk;
    const auto web = desk.enter("anna", "web", DirectoryDesk::over(1));
    const auto db = desk.enter("anna", "db", DirectoryDesk::over(2));
    Watched watched(desk);
    desk.directory->connection_closed(1);
    EXPECT_EQ(watched.take(), Heard{word("gone", web)});
    bool refused = false;
    desk.authority.revoke({"@~services/db", db.token}, [&](const authority::Answer<lease::Lease>& answer) {
        refused = std::holds_alternative<authority::Refused>(answer);
    });
    desk.pass(0s);
    EXPECT_TRUE(refused);
    EXPECT_EQ(watched.take(), Heard{});
}

TEST(ServiceWatch, hears_of_what_was_done_through_another_node) {
    DirectoryDesk desk;
    Watched watched(desk);
    // What a store that other nodes write to tells of itself.
    store::StoreListener& listener = desk.authority.listener();
    lease::Lease lease;
    lease.token = 5;
    lease.holder = desk.id("anna");
    lease.ttl = 30s;
    lease.expires_at = desk.now + 30s;
    lease.metadata = R"({"relay":"10.0.0.6:7403","life":99,"connection":3,"first_seen_ms":5})";
    listener.on_changed("@~services/web", lease, store::LeaseChange::granted);
    EXPECT_EQ(desk.directory->next_due(), desk.now) << "it is told in the next turn";
    desk.pass(0s);
    EXPECT_EQ(watched.take(), Heard{"registered web 5"});
    EXPECT_TRUE(watched.last.connected);
    EXPECT_EQ(watched.last.relay, "10.0.0.6:7403");
    EXPECT_FALSE(desk.directory->served("web")) << "not here";
    listener.on_changed("@~services/web", lease, store::LeaseChange::released);
    lease.token = 6;
    listener.on_changed("@~services/web", lease, store::LeaseChange::granted);
    desk.pass(0s);
    EXPECT_EQ(watched.take(), Heard{"updated web 6"});
    desk.pass(20s);
    lease.expires_at = desk.now + 30s;
    listener.on_changed("@~services/web", lease, store::LeaseChange::renewed);
    EXPECT_EQ(desk.page().services.at(0).expires_in, 30s);
    listener.on_expired("@~services/web", lease, 0s);
    desk.pass(0s);
    EXPECT_EQ(watched.take(), (Heard{"updated web 6", "updated web 6", "gone web 6"})) << "it had fallen silent";
}

TEST(ServiceWatch, by_another_node_withdraws_what_was_served_here) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", DirectoryDesk::over(1));
    store::StoreListener& listener = desk.authority.listener();
    lease::Lease lease;
    lease.token = told.token;
    lease.holder = desk.id("anna");
    listener.on_changed("@~services/web", lease, store::LeaseChange::released);
    lease.token = told.token + 1;
    lease.ttl = 30s;
    lease.expires_at = desk.now + 30s;
    lease.metadata = R"({"relay":"10.0.0.6:7403","life":99,"connection":1})";
    listener.on_changed("@~services/web", lease, store::LeaseChange::granted);
    desk.pass(0s);
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].code, Code::superseded);
    EXPECT_EQ(desk.withdrawn[0].connection, 1u);
    EXPECT_FALSE(desk.directory->served("web"));
}

TEST(ServiceWatch, may_end_from_within_and_has_a_limit) {
    DirectoryDesk desk;
    std::uint64_t number = 0;
    int heard = 0;
    number = desk.directory->watch([&](Change, const ServiceEntry&) {
        ++heard;
        desk.directory->unwatch(number);
    });
    desk.enter("anna", "web");
    desk.enter("anna", "db");
    EXPECT_EQ(heard, 1);
    for (int i = 0; i < 1000; ++i)
        ASSERT_NE(desk.directory->watch([](Change, const ServiceEntry&) {}), 0u);
    EXPECT_EQ(desk.directory->watch([](Change, const ServiceEntry&) {}), 0u);
}

TEST(ServiceWatch, costs_no_renewal_of_anybody_else_an_event) {
    DirectoryDesk desk;
    Watched watched(desk);
    EXPECT_FALSE(desk.authority.events().anyone_listens());
}

}  // namespace
}  // namespace holdfast::discovery::directory
