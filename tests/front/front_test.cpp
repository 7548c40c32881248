#include "front/front.h"

#include <gtest/gtest.h>

#include "front_world.h"

namespace holdfast::core {
namespace {

class FrontTest : public testing::Test {
 protected:
    FrontTest() {
        world.each_step = [this](Instant now) {
            for (const auto& front : fronts)
                front->advance(now);
        };
    }
    FrontUnderTest& add() { return *fronts.emplace_back(std::make_unique<FrontUnderTest>(world, 100 + fronts.size())); }
    AcquireAnswer acquire(FrontUnderTest& front, const std::string& holder, const std::string& resource) {
        AcquireRequest request;
        request.holder = holder;
        request.intents = {{resource, Predicate::mutates}};
        std::optional<AcquireAnswer> answer;
        front.authority().acquire(std::move(request), [&](AcquireAnswer given) { answer = std::move(given); });
        world.run_until([&] { return answer.has_value(); });
        return std::move(*answer);
    }
    Token token_of(const AcquireAnswer& answer) {
        const auto* granted = std::get_if<AcquireGranted>(&answer);
        return granted == nullptr ? 0 : granted->leases.front().lease.token;
    }
    template <class T>
    bool done(const std::optional<Answer<T>>& answer) {
        world.run_until([&] { return answer.has_value(); });
        return std::holds_alternative<T>(*answer);
    }

    FrontWorld world;
    std::vector<std::unique_ptr<FrontUnderTest>> fronts;
};

TEST_F(FrontTest, fronts_have_numbers_of_their_own_and_share_the_leases) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    EXPECT_NE(a.front().number(), b.front().number());
    const Token first = token_of(acquire(a, "alice", "r"));
    EXPECT_GT(first, 0U);
    EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U);
    EXPECT_GT(token_of(acquire(b, "bob", "s")), first);
}

TEST_F(FrontTest, does_not_wait_for_an_engine_that_an_older_version_has_written_to) {
    world.server.fetches_fail = other_format("here");
    SimEngine engine(world.server);
    Front front({.engine = engine,
                 .last_write = WriteId{1, 0},
                 .incarnation = [] { return std::uint64_t{1}; },
                 .wall_ms = [] { return std::int64_t{0}; },
                 .clock = {},
                 .log = [](const std::string&) {},
                 .warn = [](const std::string&) {}});
    std::optional<Result<void>> ready;
    world.each_step = [&](Instant now) { front.advance(now); };
    front.prepare([&](Result<void> outcome) { ready = std::move(outcome); });
    world.run_until([&] { return ready.has_value(); });
    ASSERT_FALSE(*ready);
    EXPECT_EQ(ready->error().code, "store_format");
    front.stop();
}

/// Whatever becomes of the records, nobody else is granted what is held, through either front.
struct Loss {
    const char* name;
    std::function<void(SimServer&, const std::map<Kind, std::map<std::string, SimServer::Stored>>& older)> happens;
};

TEST_F(FrontTest, grant_nothing_twice_when_the_engine_loses_records_under_them_and_all_of_them_recover) {
    const Loss losses[] = {
        {"everything deleted", [](SimServer& server, const auto&) { server.things.clear(); }},
        {"all records deleted", [](SimServer& server, const auto&) { server.things.erase(Kind::record); }},
        {"restored from an older copy", [](SimServer& server, const auto& older) { server.things = older; }},
    };
    for (const Loss& loss : losses) {
        fronts.clear();
        world.server.things.clear();
        FrontUnderTest& a = add();
        FrontUnderTest& b = add();
        world.pass(3s);
        const auto older = world.server.things;
        world.pass(3s);
        const Token token = token_of(acquire(a, "alice", "r"));
        ASSERT_GT(token, 0U) << loss.name;
        EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U) << loss.name;
        loss.happens(world.server, older);
        EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U) << loss.name << ": the request that meets it";
        EXPECT_EQ(token_of(acquire(a, "carol", "other")), 0U) << loss.name << ": the other front";
        world.pass(5s);
        for (FrontUnderTest* front : {&a, &b}) {
            EXPECT_GT(front->authority().recovering_for(), 4min) << loss.name;
            EXPECT_NE(front->authority().recovering_why().find("engine"), std::string::npos) << loss.name;
            EXPECT_EQ(token_of(acquire(*front, "bob", "r")), 0U) << loss.name;
        }
        world.pass(6min);
        EXPECT_GT(token_of(acquire(b, "bob", "r")), token) << loss.name;
    }
}

TEST_F(FrontTest, hear_of_a_loss_that_another_has_met_with_their_next_request) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    const auto both = std::exchange(world.each_step, [&](Instant now) { b.advance(now); });
    world.pass(100ms);
    world.server.things.erase(Kind::record);
    EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U);
    world.pass(100ms);
    EXPECT_GT(b.authority().recovering_for(), 4min) << "it is settled";
    world.each_step = both;
    EXPECT_EQ(token_of(acquire(a, "carol", "other")), 0U);
    world.pass(100ms);
    EXPECT_GT(a.authority().recovering_for(), 4min);
}

TEST_F(FrontTest, a_ban_at_one_is_in_force_at_the_other_and_with_those_that_start_later) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    std::optional<Answer<Ban>> banned;
    a.authority().ban("mallory", {.reason = "test"}, [&](Answer<Ban> answer) { banned = std::move(answer); });
    EXPECT_TRUE(done(banned));
    world.run_until([&] { return b.authority().policy().bans.contains("mallory"); });
    EXPECT_TRUE(add().authority().policy().bans.contains("mallory"));
}

TEST_F(FrontTest, changes_of_the_policy_through_both_at_once_are_all_made) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    std::size_t answered = 0;
    for (int i = 0; i < 20; ++i)
        (i % 2 == 0 ? a : b).authority().ban("h" + std::to_string(i), {}, [&](const Answer<Ban>& answer) {
            EXPECT_TRUE(std::holds_alternative<Ban>(answer));
            ++answered;
        });
    world.run_until([&] { return answered == 20; });
    for (const auto& front : fronts)
        world.run_until([&] { return front->authority().policy().bans.size() == 20; });
}

TEST_F(FrontTest, grants_nothing_while_the_engine_may_have_forgotten_leases) {
    FrontUnderTest& a = add();
    EXPECT_GT(token_of(acquire(a, "alice", "r")), 0U);
    world.server.restart(false);
    world.pass(3s);
    const auto answer = acquire(a, "bob", "r");
    const auto* refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->code, Code::recovering);
    world.pass(6min);
    EXPECT_GT(token_of(acquire(a, "bob", "r")), 0U);
}

TEST_F(FrontTest, says_why_it_cannot_and_goes_on_when_it_can) {
    FrontUnderTest& a = add();
    world.server.set_reachable(false);
    world.pass(1s);
    ASSERT_TRUE(a.front().trouble());
    const auto answer = acquire(a, "alice", "r");
    const auto* refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->code, Code::store_unavailable);
    EXPECT_TRUE(refused->retry_in);
    world.server.set_reachable(true);
    world.run_until([&] { return !a.front().trouble(); });
    EXPECT_GT(token_of(acquire(a, "alice", "r")), 0U);
}

TEST_F(FrontTest, tokens_rise_for_a_record_that_the_engine_has_forgotten_meanwhile) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    Token last = 0;
    for (int round = 0; round < 4; ++round) {
        FrontUnderTest& front = round % 2 == 0 ? b : a;
        const Token token = token_of(acquire(front, "alice", "r"));
        EXPECT_GT(token, last);
        last = token;
        world.pass(7min);  // it has ended, and is not remembered any more
    }
}

}  // namespace
}  // namespace holdfast::core
