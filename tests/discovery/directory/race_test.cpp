#include <gtest/gtest.h>
#include <set>

#include "discovery/directory/directory_desk.h"
#include "keys/controller/late_store.h"
#include "support/seeds.h"

namespace holdfast::discovery::directory {
namespace {

struct Outcome {
    int ok = 0;
    int taken = 0;
    lease::Token token = 0;
    std::string winner;
};

/// A hundred identities want one name, all before the store has answered anybody.
Outcome race(DirectoryDesk& desk, keys::controller::LateStore* late) {
    Outcome outcome;
    for (int i = 0; i < 100; ++i) {
        const std::string publisher = "publisher " + std::to_string(i);
        const auto message = desk.signed_by(publisher, desk.named("web"));
        desk.directory->update(message, DirectoryDesk::over(static_cast<std::uint64_t>(i) + 1),
                               [&outcome, publisher](const UpdateResponse& told) {
                                   if (told.refused == Code::name_taken) ++outcome.taken;
                                   if (told.refused) return;
                                   ++outcome.ok;
                                   outcome.token = told.token;
                                   outcome.winner = publisher;
                               });
    }
    while (late != nullptr && late->step()) {
    }
    return outcome;
}

void expect_one_winner(DirectoryDesk& desk, const Outcome& outcome) {
    EXPECT_EQ(outcome.ok, 1);
    EXPECT_EQ(outcome.taken, 99);
    EXPECT_EQ(desk.find("web")->identity, desk.id(outcome.winner));
    EXPECT_EQ(desk.find("web")->token, outcome.token);
    EXPECT_EQ(desk.store.active_leases(), 1u);
    EXPECT_TRUE(desk.withdrawn.empty());
}

TEST(ServiceRace, of_a_hundred_for_one_name_has_one_winner) {
    DirectoryDesk desk;
    expect_one_winner(desk, race(desk, nullptr));
}

TEST(ServiceRace, has_one_winner_too_where_the_store_answers_late_and_in_any_order) {
    std::set<std::string> winners;
    for (std::uint64_t seed = first_seed(), end = seed + 20; seed < end; ++seed) {
        DirectoryDesk desk;
        keys::controller::LateStore late(desk.store, seed);
        desk.authority.use(late);
        const Outcome outcome = race(desk, &late);
        desk.authority.use(desk.store);
        expect_one_winner(desk, outcome);
        winners.insert(outcome.winner);
    }
    EXPECT_GT(winners.size(), 3u) << "it was no race";
}

TEST(ServiceRace, of_one_identity_with_itself_leaves_the_newest_token_and_tells_the_rest) {
    for (std::uint64_t seed = first_seed(), end = seed + 20; seed < end; ++seed) {
        DirectoryDesk desk;
        keys::controller::LateStore late(desk.store, seed);
        desk.authority.use(late);
        std::map<std::uint64_t, lease::Token> had;
        for (std::uint64_t connection = 1; connection <= 20; ++connection)
            desk.directory->update(desk.signed_by("anna", desk.named("web")), DirectoryDesk::over(connection),
                                   [&had, connection](const UpdateResponse& told) {
                                       ASSERT_EQ(told.refused, std::nullopt);
                                       had[connection] = told.token;
                                   });
        while (late.step()) {
        }
        desk.authority.use(desk.store);
        desk.pass(0s);
        ASSERT_EQ(had.size(), 20u);
        const auto served = desk.directory->served("web");
        ASSERT_TRUE(served);
        EXPECT_EQ(had.at(served->connection), served->token);
        EXPECT_EQ(desk.withdrawn.size(), 19u);
        for (const Withdrawal& told : desk.withdrawn) {
            EXPECT_EQ(told.code, Code::superseded);
            EXPECT_EQ(told.token, had.at(told.connection));
            EXPECT_LT(told.token, served->token);
        }
        EXPECT_EQ(desk.store.active_leases(), 1u);
    }
}

}  // namespace
}  // namespace holdfast::discovery::directory
