#include <functional>
#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"
#include "discovery/directory/service_limits.h"
#include "keys/controller/late_store.h"

namespace holdfast::discovery::directory {
namespace {

const auto over = [](std::uint64_t connection) { return DirectoryDesk::over(connection); };

TEST(ServiceConnection, that_closes_ends_its_leases_at_once_and_only_its_own) {
    DirectoryDesk desk;
    desk.enter("anna", "a", over(1));
    desk.enter("anna", "b", over(1));
    desk.enter("anna", "c", over(2));
    desk.enter("ben", "d", over(0));
    EXPECT_EQ(desk.directory->counts().connected, 3u);
    desk.directory->connection_closed(1);
    EXPECT_EQ(desk.names(), (std::vector<std::string>{"c", "d"}));
    EXPECT_EQ(desk.directory->counts().connected, 1u);
    EXPECT_EQ(desk.enter("ben", "a", over(3)).refused, std::nullopt);
    EXPECT_TRUE(desk.withdrawn.empty()) << "there is nobody to tell";
    desk.directory->connection_closed(77);
}

TEST(ServiceConnection, that_closes_leaves_what_another_has_taken_over_since) {
    DirectoryDesk desk;
    desk.enter("anna", "web", over(1));
    const auto second = desk.enter("anna", "web", over(2));
    desk.directory->connection_closed(1);
    EXPECT_EQ(desk.find("web")->token, second.token);
    EXPECT_EQ(desk.directory->served("web")->connection, 2u);
}

TEST(ServiceConnection, of_the_same_publisher_that_renews_is_the_one_that_serves_from_then_on) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", over(1));
    EXPECT_EQ(desk.renew("anna", "web", told.token, over(2)).refused, std::nullopt);
    EXPECT_EQ(desk.directory->served("web")->connection, 2u);
    desk.directory->connection_closed(1);
    EXPECT_TRUE(desk.find("web"));
    desk.directory->connection_closed(2);
    EXPECT_FALSE(desk.find("web"));
}

TEST(ServiceConnection, is_told_when_its_lease_runs_out) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    desk.pass(30s);
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].name, "web");
    EXPECT_EQ(desk.withdrawn[0].token, told.token);
    EXPECT_EQ(desk.withdrawn[0].code, Code::lease_expired);
}

TEST(ServiceConnection, is_told_why_when_another_identity_on_it_takes_what_ran_out) {
    DirectoryDesk desk;
    desk.enter("anna", "web");
    // Time passes, and nobody has told the directory of it yet.
    desk.at(desk.now + 30s);
    EXPECT_EQ(desk.enter("ben", "web").refused, std::nullopt);
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].code, Code::lease_expired);
}

TEST(ServiceConnection, is_told_when_another_publisher_of_its_identity_gives_it_up) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web", over(1));
    desk.leave("anna", "web", told.token, over(2));
    ASSERT_EQ(desk.withdrawn.size(), 1u);
    EXPECT_EQ(desk.withdrawn[0].code, Code::lease_released);
}

TEST(ServiceConnection, may_close_from_within_the_word_that_something_was_withdrawn) {
    DirectoryDesk desk;
    desk.directory.reset();
    std::unique_ptr<Directory>& directory = desk.directory;
    int told = 0;
    directory = std::make_unique<Directory>(Directory::Parts{.authority = desk.authority,
                                                             .relay = DirectoryDesk::life,
                                                             .started_at = desk.now,
                                                             .withdraw = [&](const Withdrawal& lost) {
                                                                 ++told;
                                                                 directory->connection_closed(lost.connection);
                                                             }});
    desk.pass(0s);
    for (const char* name : {"a", "b", "c"})
        ASSERT_EQ(desk.enter("anna", name, over(1)).refused, std::nullopt);
    desk.ban(desk.id("anna"));
    EXPECT_GE(told, 1);
    desk.pass(0s);
    EXPECT_EQ(desk.directory->counts().connected, 0u);
    desk.unban(desk.id("anna"));
    EXPECT_TRUE(desk.names().empty());
}

TEST(ServiceConnection, has_a_limit_on_its_services) {
    DirectoryDesk desk;
    for (std::size_t i = 0; i < limits::services_per_connection; ++i)
        ASSERT_EQ(desk.enter("anna", "s" + std::to_string(i), over(1)).refused, std::nullopt);
    EXPECT_EQ(desk.enter("anna", "one more", over(1)).refused, Code::too_many_services);
    EXPECT_EQ(desk.enter("anna", "s7", over(1)).refused, std::nullopt) << "its own again";
    EXPECT_EQ(desk.enter("anna", "one more", over(2)).refused, std::nullopt);
}

/// How many answers a registration gets if this happens while the store decides.
int answers_if(DirectoryDesk& desk, const std::function<void()>& happens) {
    keys::controller::LateStore late(desk.store, 5);
    desk.authority.use(late);
    int answers = 0;
    desk.directory->update(desk.signed_by("anna", desk.named("web")), over(1),
                           [&](const UpdateResponse&) { ++answers; });
    happens();
    while (late.step()) {
    }
    desk.authority.use(desk.store);
    return answers;
}

TEST(ServiceConnection, that_closes_while_the_store_decides_leaves_nothing_behind) {
    DirectoryDesk desk;
    EXPECT_EQ(answers_if(desk, [&] { desk.directory->connection_closed(1); }), 1);
    EXPECT_EQ(desk.store.active_leases(), 0u);
    EXPECT_FALSE(desk.find("web"));
}

TEST(ServiceConnection, of_a_directory_that_is_gone_gets_no_answer_and_does_no_harm) {
    DirectoryDesk desk;
    EXPECT_EQ(answers_if(desk, [&] { desk.directory.reset(); }), 0);
    EXPECT_EQ(desk.store.active_leases(), 0u);
}

}  // namespace
}  // namespace holdfast::discovery::directory
