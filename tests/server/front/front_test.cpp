#include "server/front.h"

#include <gtest/gtest.h>

#include "server/front/front_world.h"

namespace holdfast::server {
namespace {

class FrontTest : public testing::Test {
 protected:
    FrontTest() {
        world.each_step = [this](Instant now) {
            for (const auto& front : fronts)
                front->advance(now);
        };
    }
    FrontUnderTest& add(FrontUnderTest::Shape shape = {}) {
        shape.seed = ++seed;
        return *fronts.emplace_back(std::make_unique<FrontUnderTest>(world, shape));
    }
    authority::AcquireAnswer acquire(FrontUnderTest& front, const std::string& holder, const std::string& resource) {
        authority::AcquireRequest request;
        request.holder = holder;
        request.intents = {{resource, lease::Predicate::mutates}};
        std::optional<authority::AcquireAnswer> answer;
        front.authority().acquire(std::move(request),
                                  [&](authority::AcquireAnswer given) { answer = std::move(given); });
        world.run_until([&] { return answer.has_value(); });
        return std::move(*answer);
    }
    lease::Token token_of(const authority::AcquireAnswer& answer) {
        const auto* granted = std::get_if<authority::AcquireGranted>(&answer);
        return granted == nullptr ? 0 : granted->leases.front().lease.token;
    }
    /// Nothing if it was renewed, else why not.
    std::optional<Code> renew(FrontUnderTest& front, const std::string& holder, const lease::LeaseName& lease) {
        std::optional<std::vector<authority::RenewAnswer>> answers;
        authority::RenewRequest request;
        request.holder = holder;
        request.leases.push_back({lease, {}});
        front.authority().renew(std::move(request),
                                [&](std::vector<authority::RenewAnswer> given) { answers = std::move(given); });
        world.run_until([&] { return answers.has_value(); });
        const auto* refused = std::get_if<authority::Refused>(&answers->at(0).result);
        return refused == nullptr ? std::nullopt : std::optional(refused->code);
    }
    template <class T>
    bool done(const std::optional<authority::Answer<T>>& answer) {
        world.run_until([&] { return answer.has_value(); });
        return std::holds_alternative<T>(*answer);
    }

    FrontWorld world;
    std::uint64_t seed = 100;
    std::vector<std::unique_ptr<FrontUnderTest>> fronts;
};

TEST_F(FrontTest, fronts_have_numbers_of_their_own_and_share_the_leases) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    EXPECT_NE(a.front().number(), b.front().number());
    const lease::Token first = token_of(acquire(a, "alice", "r"));
    EXPECT_GT(first, 0U);
    EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U);
    EXPECT_GT(token_of(acquire(b, "bob", "s")), first);
}

TEST_F(FrontTest, does_not_wait_for_an_engine_that_an_older_version_has_written_to) {
    world.server.fetches_fail = store::cas::other_format("here");
    store::cas::SimEngine engine(world.server);
    Front front({.engine = engine,
                 .last_write = store::cas::WriteId{1, 0},
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
    EXPECT_EQ(ready->error().code, Code::store_format);
    front.stop();
}

/// Whatever becomes of the records, nobody else is granted what is held, through either front.
struct Loss {
    const char* name;
    std::function<void(store::cas::SimServer&, const store::cas::SimServer::Copy& older)> happens;
};

TEST_F(FrontTest, grant_nothing_twice_when_the_engine_loses_records_under_them_and_all_of_them_recover) {
    const Loss losses[] = {
        {"everything deleted", [](store::cas::SimServer& server, const auto&) { server.empty(); }},
        {"all records deleted",
         [](store::cas::SimServer& server, const auto&) { server.things.erase(store::cas::Kind::record); }},
        {"a dump restored",
         [](store::cas::SimServer& server, const store::cas::SimServer::Copy& older) {
             server.restore({older.things, std::nullopt});
         }},
        {"a data directory restored",
         [](store::cas::SimServer& server, const store::cas::SimServer::Copy& older) { server.restore(older); }},
    };
    for (const Loss& loss : losses) {
        fronts.clear();
        world.server.things.clear();
        FrontUnderTest& a = add();
        FrontUnderTest& b = add();
        world.pass(3s);
        const store::cas::SimServer::Copy older = world.server.copy();
        world.pass(3s);
        const lease::Token token = token_of(acquire(a, "alice", "r"));
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

TEST_F(FrontTest, notice_by_its_position_that_the_engine_lost_less_than_a_raise_of_the_marker) {
    for (const bool says_late : {false, true}) {
        fronts.clear();
        world.server.empty();
        world.server.says_late = says_late;
        FrontUnderTest& a = add();
        FrontUnderTest& b = add();
        world.pass(3s);
        const store::cas::WriteId marker = world.server.marker();
        world.run_until([&] { return world.server.marker() != marker; });
        world.pass(20ms);
        const store::cas::SimServer::Copy older = world.server.copy();
        ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
        world.server.restore(older);
        EXPECT_EQ(token_of(acquire(a, "bob", "other")), 0U) << "the request that meets it";
        EXPECT_EQ(token_of(acquire(a, "bob", "r")), 0U);
        world.pass(2s);
        for (FrontUnderTest* front : {&a, &b})
            EXPECT_GT(front->authority().recovering_for(), 4min);
    }
}

TEST_F(FrontTest, look_for_what_they_wrote_last_when_others_have_hidden_that_the_engine_went_back) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    const store::cas::WriteId marker = world.server.marker();
    world.run_until([&] { return world.server.marker() != marker; });
    world.pass(20ms);
    const store::cas::SimServer::Copy older = world.server.copy();
    const lease::Token token = token_of(acquire(a, "alice", "r"));
    ASSERT_GT(token, 0U);
    store::cas::SimEngine& way_of_a = *world.server.connected.front();
    way_of_a.set_reachable(false);
    world.server.restore(older);
    world.pass(5s);
    EXPECT_GT(token_of(acquire(b, "bob", "other")), token) << "it cannot know, and the engine comes further by it";
    way_of_a.set_reachable(true);
    world.pass(2s);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min);
}

TEST_F(FrontTest, extend_their_doubt_when_the_engine_loses_something_again) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    world.server.empty();
    world.pass(1min);
    EXPECT_LT(a.authority().recovering_for(), 4min + 5s);
    const store::cas::SimServer::Copy older = world.server.dump();
    world.pass(1min);
    world.server.restore(older);
    world.pass(3s);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min + 50s) << "what was renewed since is lost";
}

TEST_F(FrontTest, doubt_for_as_long_as_a_lease_may_last_that_only_another_allowed) {
    for (const bool hears_of_it : {true, false}) {
        fronts.clear();
        world.server.empty();
        FrontUnderTest& a = add();
        FrontUnderTest& b = add();
        world.pass(3s);
        store::cas::SimEngine& way_of_a = *world.server.connected.front();
        store::cas::SimEngine& way_of_b = *world.server.connected.back();
        way_of_b.set_reachable(hears_of_it);
        std::optional<authority::Answer<lease::Policy>> changed;
        authority::PolicyChange change;
        change.ttl_max = 20min;
        a.authority().change_policy(change,
                                    [&](authority::Answer<lease::Policy> answer) { changed = std::move(answer); });
        ASSERT_TRUE(done(changed));
        world.pass(2s);
        way_of_a.set_reachable(false);
        world.server.empty();
        way_of_b.set_reachable(true);
        world.pass(2s);
        EXPECT_GT(b.authority().recovering_for(), hears_of_it ? 19min : 4min);
        way_of_a.set_reachable(true);
        world.pass(2s);
        for (FrontUnderTest* front : {&a, &b})
            EXPECT_GT(front->authority().recovering_for(), 19min) << hears_of_it;
    }
}

TEST_F(FrontTest, doubt_an_engine_that_went_back_to_before_their_last_doubt) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    const store::cas::SimServer::Copy older = world.server.dump();
    world.server.empty();
    world.pass(6min);
    const lease::Token token = token_of(acquire(a, "alice", "r"));
    ASSERT_GT(token, 0U);
    world.server.restore(older);
    EXPECT_EQ(token_of(acquire(b, "bob", "r")), 0U);
    world.pass(3s);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min);
}

TEST_F(FrontTest, wait_on_an_empty_engine_unless_they_know_that_it_was_always_empty) {
    EXPECT_GT(add({.new_store = false}).authority().recovering_for(), 4min + 50s);
    EXPECT_GT(add({.new_store = false}).authority().recovering_for(), 4min) << "the other has written it down";
    EXPECT_EQ(add({.new_store = true}).authority().recovering_for(), Duration::zero()) << "somebody knows now";
    EXPECT_EQ(add({.new_store = false}).authority().recovering_for(), Duration::zero());
    fronts.clear();
    world.server.empty();
    EXPECT_EQ(add({.new_store = true}).authority().recovering_for(), Duration::zero());
    EXPECT_EQ(add({.new_store = false}).authority().recovering_for(), Duration::zero()) << "it is not empty any more";
    world.server.empty();
    world.pass(3s);
    EXPECT_GT(add({.new_store = true}).authority().recovering_for(), 4min) << "the others know better";
}

TEST_F(FrontTest, remember_where_the_engine_was_when_they_were_stopped) {
    const Loss losses[] = {
        {"everything deleted", [](store::cas::SimServer& server, const auto&) { server.empty(); }},
        {"a dump restored",
         [](store::cas::SimServer& server, const store::cas::SimServer::Copy& older) {
             server.restore({older.things, std::nullopt});
         }},
        {"a data directory restored",
         [](store::cas::SimServer& server, const store::cas::SimServer::Copy& older) { server.restore(older); }},
    };
    for (const Loss& loss : losses) {
        world.server.empty();
        add();
        world.pass(3s);
        const store::cas::SimServer::Copy older = world.server.copy();
        world.pass(3s);
        ASSERT_GT(token_of(acquire(*fronts[0], "alice", "r")), 0U) << loss.name;
        const store::cas::FrontMemory remembered = fronts[0]->front().memory();
        fronts.clear();
        EXPECT_EQ(add({.remembered = remembered}).authority().recovering_for(), Duration::zero()) << loss.name;
        fronts.clear();
        loss.happens(world.server, older);
        EXPECT_GT(add({.remembered = remembered}).authority().recovering_for(), 4min) << loss.name;
        fronts.clear();
    }
}

TEST_F(FrontTest, ask_for_what_is_to_be_remembered_at_first_about_once_a_second_and_when_they_stop) {
    FrontUnderTest& a = add();
    EXPECT_FALSE(a.remembered.is_empty()) << "before anything is granted";
    world.pass(3s);
    const store::cas::FrontMemory early = a.remembered;
    EXPECT_FALSE(early.is_empty());
    world.pass(3s);
    EXPECT_GT(a.remembered.place.marker.count, early.place.marker.count);
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    a.front().stop();
    EXPECT_EQ(a.remembered, a.front().memory());
    EXPECT_EQ(store::cas::parse_front_memory(store::cas::format(a.remembered)), a.remembered);
}

TEST_F(FrontTest, doubt_another_server_in_the_place_of_the_engine_unless_it_is_declared_to_lose_nothing) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    world.server.restart(true);
    world.pass(1s);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min);
    fronts.clear();
    world.pass(6min);
    FrontUnderTest& c = add({.synchronous = true});
    world.pass(3s);
    const store::cas::SimServer::Copy older = world.server.copy();
    ASSERT_GT(token_of(acquire(c, "alice", "r")), 0U);
    world.server.restart(true);
    world.pass(1s);
    EXPECT_EQ(c.authority().recovering_for(), Duration::zero());
    EXPECT_EQ(token_of(acquire(c, "bob", "r")), 0U);
    world.server.set_reachable(false);
    world.server.restore(older);
    world.server.restart(true);
    world.pass(1s);
    EXPECT_GT(c.authority().recovering_for(), 4min) << "and yet it went back";
}

TEST_F(FrontTest, grant_nothing_when_the_engines_clock_went_ahead_by_more_than_holders_allow_for) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    world.server.clock.ahead += 100ms;
    world.pass(3s);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min);
    EXPECT_NE(b.authority().recovering_why().find("clock"), std::string::npos) << b.authority().recovering_why();
}

TEST_F(FrontTest, learn_when_they_start_that_the_engines_clock_went_ahead_meanwhile) {
    add();
    world.pass(3s);
    const store::cas::FrontMemory remembered = fronts[0]->front().memory();
    fronts.clear();
    world.server.clock.ahead += 2min;
    FrontUnderTest& later = add({.remembered = remembered});
    world.pass(3s);
    EXPECT_GT(later.authority().recovering_for(), 4min) << "by what it remembers";
    EXPECT_GT(add().authority().recovering_for(), 4min) << "by what the other has written down";
}

TEST_F(FrontTest, notice_a_deleted_record_when_its_holder_renews) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    const lease::Token token = token_of(acquire(a, "alice", "r"));
    ASSERT_GT(token, 0U);
    ASSERT_EQ(renew(a, "alice", {"r", token}), std::nullopt);
    ASSERT_TRUE(world.server.remove("r"));
    EXPECT_NE(renew(a, "alice", {"r", token}), std::nullopt);
    world.pass(2s);
    for (FrontUnderTest* front : {&a, &b}) {
        EXPECT_GT(front->authority().recovering_for(), 4min);
        EXPECT_NE(front->authority().recovering_why().find("`r`"), std::string::npos);
    }
    world.pass(6min);
    EXPECT_GT(token_of(acquire(b, "bob", "r")), token);
    EXPECT_EQ(a.authority().recovering_for(), Duration::zero()) << "once";
}

TEST_F(FrontTest, notice_a_deleted_record_when_another_front_grants_it) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    ASSERT_TRUE(world.server.remove("r"));
    EXPECT_GT(token_of(acquire(b, "bob", "r")), 0U) << "nobody can know";
    world.pass(2s);
    EXPECT_EQ(token_of(acquire(b, "carol", "s")), 0U);
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_GT(front->authority().recovering_for(), 4min);
}

TEST_F(FrontTest, do_not_take_a_lease_for_lost_that_was_ended_through_another_front) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.server.loses_notices = 100;
    for (const bool revoked : {false, true}) {
        const lease::Token token = token_of(acquire(a, "alice", "r"));
        ASSERT_GT(token, 0U);
        if (revoked)
            b.authority().revoke({"r", token}, [](const auto&) {}, {});
        else
            b.authority().release({.caller = {}, .name = {"r", token}, .holder = "alice"}, [](const auto&) {});
        world.pass(100ms);
        EXPECT_NE(renew(a, "alice", {"r", token}), std::nullopt);
        const lease::Token next = token_of(acquire(b, "bob", "r"));
        EXPECT_GT(next, token);
        EXPECT_NE(renew(a, "alice", {"r", token}), std::nullopt);
        EXPECT_EQ(renew(b, "bob", {"r", next}), std::nullopt);
        b.authority().release({.caller = {}, .name = {"r", next}, .holder = "bob"}, [](const auto&) {});
        world.pass(100ms);
    }
    for (FrontUnderTest* front : {&a, &b})
        EXPECT_EQ(front->authority().recovering_for(), Duration::zero()) << front->authority().recovering_why();
}

TEST_F(FrontTest, grant_nothing_that_was_under_way_when_the_engine_went_away_and_lost_everything) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    world.server.fate = [](const store::cas::Swap& swap) {
        return swap.name == "r" ? store::cas::SimServer::Fate::request_lost : store::cas::SimServer::Fate::carried_out;
    };
    authority::AcquireRequest request;
    request.holder = "bob";
    request.intents = {{"r", lease::Predicate::mutates}};
    std::optional<authority::AcquireAnswer> answer;
    b.authority().acquire(std::move(request), [&](authority::AcquireAnswer given) { answer = std::move(given); });
    world.pass(100ms);
    ASSERT_FALSE(answer);
    world.server.set_reachable(false);
    world.server.fate = {};
    world.server.empty();
    world.pass(50ms);
    world.server.set_reachable(true);
    world.run_until([&] { return answer.has_value(); });
    EXPECT_EQ(token_of(*answer), 0U);
}

TEST_F(FrontTest, hear_of_a_loss_that_another_has_met_with_their_next_request) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    world.pass(3s);
    ASSERT_GT(token_of(acquire(a, "alice", "r")), 0U);
    const auto both = std::exchange(world.each_step, [&](Instant now) { b.advance(now); });
    world.pass(100ms);
    world.server.things.erase(store::cas::Kind::record);
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
    std::optional<authority::Answer<lease::Ban>> banned;
    a.authority().ban("mallory", {.reason = "test"},
                      [&](authority::Answer<lease::Ban> answer) { banned = std::move(answer); });
    EXPECT_TRUE(done(banned));
    world.run_until([&] { return b.authority().policy().bans.contains("mallory"); });
    EXPECT_TRUE(add().authority().policy().bans.contains("mallory"));
}

TEST_F(FrontTest, change_the_policy_after_the_engine_has_lost_it) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    std::optional<authority::Answer<lease::Ban>> before, after;
    a.authority().ban("mallory", {.reason = "test"},
                      [&](authority::Answer<lease::Ban> answer) { before = std::move(answer); });
    ASSERT_TRUE(done(before));
    world.run_until([&] { return b.authority().policy().bans.contains("mallory"); });
    world.server.empty();
    world.pass(6min);
    b.authority().ban("oscar", {.reason = "test"},
                      [&](authority::Answer<lease::Ban> answer) { after = std::move(answer); });
    ASSERT_TRUE(done(after));
    for (FrontUnderTest* front : {&a, &b, &add()}) {
        world.run_until([&] { return front->authority().policy().bans.contains("oscar"); });
        EXPECT_TRUE(front->authority().policy().bans.contains("mallory")) << "those who know it write it down again";
    }
}

TEST_F(FrontTest, changes_of_the_policy_through_both_at_once_are_all_made) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    std::size_t answered = 0;
    for (int i = 0; i < 20; ++i)
        (i % 2 == 0 ? a : b)
            .authority()
            .ban("h" + std::to_string(i), {}, [&](const authority::Answer<lease::Ban>& answer) {
                EXPECT_TRUE(std::holds_alternative<lease::Ban>(answer));
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
    const auto* refused = std::get_if<authority::Refused>(&answer);
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
    const auto* refused = std::get_if<authority::Refused>(&answer);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->code, Code::store_unavailable);
    EXPECT_TRUE(refused->retry_in);
    world.server.set_reachable(true);
    world.run_until([&] { return !a.front().trouble(); });
    EXPECT_GT(token_of(acquire(a, "alice", "r")), 0U);
}

TEST_F(FrontTest, says_why_when_an_engine_that_answers_takes_no_writes) {
    FrontUnderTest& a = add();
    world.server.swaps_fail = Error{Code::store_unavailable, "its disk is full"};
    world.pass(10s);
    ASSERT_TRUE(a.front().trouble());
    EXPECT_EQ(a.front().trouble()->message, "its disk is full");
    const auto answer = acquire(a, "alice", "r");
    const auto* refused = std::get_if<authority::Refused>(&answer);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->code, Code::store_unavailable);
    EXPECT_NE(refused->detail.find("its disk is full"), std::string::npos) << refused->detail;
    world.server.set_reachable(false);
    world.pass(1s);
    world.server.set_reachable(true);
    for (int i = 0; i < 100; ++i) {
        world.pass(1ms);
        ASSERT_TRUE(a.front().trouble());
        EXPECT_EQ(a.front().trouble()->message.find("lost"), std::string::npos) << a.front().trouble()->message;
    }
    world.server.swaps_fail.reset();
    world.run_until([&] { return !a.front().trouble(); });
    EXPECT_GT(token_of(acquire(a, "alice", "r")), 0U);
}

TEST_F(FrontTest, tokens_rise_for_a_record_that_the_engine_has_forgotten_meanwhile) {
    FrontUnderTest& a = add();
    FrontUnderTest& b = add();
    lease::Token last = 0;
    for (int round = 0; round < 4; ++round) {
        FrontUnderTest& front = round % 2 == 0 ? b : a;
        const lease::Token token = token_of(acquire(front, "alice", "r"));
        EXPECT_GT(token, last);
        last = token;
        world.pass(7min);  // it has ended, and is not remembered any more
    }
}

}  // namespace
}  // namespace holdfast::server
