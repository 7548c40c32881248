#include <gtest/gtest.h>

#include "authority/desk.h"

namespace holdfast::authority {
namespace {

using Waited = std::shared_ptr<std::optional<AcquireAnswer>>;

/// Agents `old`, `middle` and `young`, who are what they are called.
class AgentsDesk : public ::testing::Test {
 protected:
    AgentsDesk() {
        desk.agent("old", 100);
        desk.agent("middle", 200);
        desk.agent("young", 300);
    }

    Waited wait(const std::string& holder, std::vector<lease::Intent> intents,
                std::optional<std::uint64_t> epoch = {}) {
        auto got = std::make_shared<std::optional<AcquireAnswer>>();
        AcquireRequest asked = Desk::request(holder, std::move(intents), 60s);
        asked.epoch = epoch;
        desk.authority.acquire(std::move(asked), [got](AcquireAnswer answer) { *got = std::move(answer); });
        return got;
    }
    lease::Token lock_as(const std::string& holder, const std::string& resource,
                         std::optional<std::uint64_t> epoch = {}, const std::string& session = "") {
        AcquireRequest asked = Desk::request(holder, {{resource}});
        asked.epoch = epoch;
        asked.session = session;
        const auto answer = desk.ask(std::move(asked));
        const auto* granted = std::get_if<AcquireGranted>(&*answer);
        return granted != nullptr ? granted->leases[0].lease.token : 0;
    }
    static bool granted(const Waited& waited) { return *waited && std::holds_alternative<AcquireGranted>(**waited); }
    static std::optional<Code> code(const Waited& waited) {
        if (!*waited || granted(waited)) return std::nullopt;
        return code_of(**waited);
    }

    Desk desk;
};

TEST_F(AgentsDesk, tells_the_younger_to_die_and_lets_the_older_wait) {  // G5
    const lease::Token token = desk.lock("middle", "r");
    EXPECT_EQ(code(wait("young", {{"r"}})), Code::die);
    const Waited older = wait("old", {{"r"}});
    EXPECT_FALSE(*older);
    desk.unlock("middle", "r", token);
    EXPECT_TRUE(granted(older));
}

TEST_F(AgentsDesk, judges_a_manifest_as_a_whole) {
    desk.lock("young", "a");
    desk.lock("old", "b");
    EXPECT_EQ(code(wait("middle", {{"a"}, {"b"}, {"c"}})), Code::die) << "it could wait for one, but not for the other";
    EXPECT_NE(desk.lock("plain", "c"), 0U) << "and nothing was taken";
}

TEST_F(AgentsDesk, tells_to_stay_away_longer_each_time_and_forgives_with_a_grant) {
    desk.lock("old", "r");
    const auto delay = [&] { return std::get<AcquireBusy>(*desk.ask(Desk::request("young", {{"r"}}))).retry_in; };
    const Duration first = delay();
    EXPECT_GE(first, Duration{50ms});
    EXPECT_LT(first, Duration{150ms});
    for (int i = 0; i < 20; ++i)
        delay();
    EXPECT_GE(delay(), Duration{12s}) << "twice as long each time";
    EXPECT_LT(delay(), Duration{1min}) << "but not for ever";
    desk.lock("young", "other");
    EXPECT_LT(delay(), Duration{150ms});
}

TEST_F(AgentsDesk, gives_those_who_die_together_different_delays) {
    desk.lock("old", "r");
    std::set<Duration> delays;
    for (int i = 0; i < 20; ++i) {
        const std::string id = "herd" + std::to_string(i);
        desk.agent(id, 1000);
        delays.insert(std::get<AcquireBusy>(*desk.ask(Desk::request(id, {{"r"}}))).retry_in);
    }
    EXPECT_GT(delays.size(), 15U);
}

TEST_F(AgentsDesk, serves_waiting_agents_oldest_first_whenever_they_came) {  // G6
    const lease::Token token = desk.lock("young", "r");
    const Waited second = wait("middle", {{"r"}});
    const Waited first = wait("old", {{"r"}});
    desk.unlock("young", "r", token);
    ASSERT_TRUE(granted(first));
    EXPECT_FALSE(*second) << "it holds nothing, so it may wait on, even behind an older one";
    desk.unlock("old", "r", std::get<AcquireGranted>(**first).leases[0].lease.token);
    EXPECT_TRUE(granted(second));
}

TEST_F(AgentsDesk, tells_a_waiting_agent_that_holds_something_to_die_when_an_older_one_comes_before_it) {
    desk.lock("middle", "own");
    desk.lock("young", "r");
    const Waited middle = wait("middle", {{"r"}});
    EXPECT_FALSE(*middle);
    const Waited old = wait("old", {{"r"}});
    EXPECT_EQ(code(middle), Code::die) << "old could come to wait for what middle holds";
    EXPECT_FALSE(*old);
}

TEST_F(AgentsDesk, tells_a_waiting_agent_to_die_when_it_gets_something_else_while_an_older_one_is_before_it) {
    desk.lock("young", "r");
    const Waited middle = wait("middle", {{"r"}});
    const Waited old = wait("old", {{"r"}});
    EXPECT_FALSE(*middle);
    desk.lock("middle", "own");
    EXPECT_EQ(code(middle), Code::die);
}

TEST_F(AgentsDesk, never_lets_two_agents_wait_for_each_other) {
    desk.lock("middle", "a");
    desk.lock("young", "b");
    const Waited older = wait("middle", {{"b"}});
    const Waited younger = wait("young", {{"a"}});
    EXPECT_FALSE(*older);
    EXPECT_EQ(code(younger), Code::die);
}

TEST_F(AgentsDesk, never_lets_a_holder_wait_behind_one_that_waits_for_it) {
    desk.lock("young", "x");
    const Waited old = wait("old", {{"x"}, {"y"}});
    EXPECT_EQ(code(wait("young", {{"y"}})), Code::die) << "y is free, but old comes first, and old waits for x";
    EXPECT_FALSE(*old);
}

TEST_F(AgentsDesk, lets_plain_holders_wait_for_agents_and_agents_for_plain_holders) {
    const lease::Token token = desk.lock("old", "r");
    const Waited plain = wait("plain", {{"r"}});
    EXPECT_FALSE(*plain);
    desk.unlock("old", "r", token);
    ASSERT_TRUE(granted(plain));
    EXPECT_FALSE(*wait("young", {{"r"}}));
}

TEST_F(AgentsDesk, tells_who_waits_and_for_whom) {
    desk.lock("young", "r");
    wait("old", {{"r"}});
    wait("middle", {{"r"}, {"s"}});
    std::optional<AgentAnswer> told;
    desk.authority.get_agent("middle", [&](Answer<AgentAnswer> answer) { told = std::get<AgentAnswer>(answer); });
    ASSERT_EQ(told->waiting.size(), 1U);
    const WaitingRequest& waiting = told->waiting[0];
    EXPECT_EQ(waiting.intents.size(), 2U);
    EXPECT_EQ(waiting.place, 2U);
    EXPECT_EQ(waiting.retry_in, 60s);
    ASSERT_EQ(waiting.conflicts.size(), 2U);
    EXPECT_EQ(waiting.conflicts[0].conflict.holder, "young");
    EXPECT_EQ(waiting.conflicts[1].conflict.holder, "old");
}

TEST_F(AgentsDesk, tells_of_as_many_waiting_requests_as_one_manifest_has_intents) {
    desk.lock("young", "r");
    std::vector<lease::Intent> many{{"r"}};
    for (int i = 1; i < 100; ++i)
        many.push_back({"other" + std::to_string(i)});
    for (int i = 0; i < 5; ++i)
        wait("old", many);
    std::optional<AgentAnswer> told;
    desk.authority.get_agent("old", [&](Answer<AgentAnswer> answer) { told = std::get<AgentAnswer>(answer); });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->waiting.size(), 2U) << "a third would be beyond 256 intents";
}

TEST_F(AgentsDesk, keeps_the_priority_fixed_while_anything_is_pending) {  // G5
    EXPECT_TRUE(desk.agent("middle", 250)) << "nothing is pending";
    const lease::Token token = desk.lock("middle", "r");
    EXPECT_FALSE(desk.agent("middle", 200));
    EXPECT_TRUE(desk.agent("middle", 250)) << "the same one is no change";
    const Waited waits = wait("old", {{"r"}});
    EXPECT_FALSE(desk.agent("old", 90));
    desk.unlock("middle", "r", token);
    EXPECT_TRUE(desk.agent("middle", 200));
    desk.ask(Desk::request("young", {{"r"}}));
    EXPECT_FALSE(desk.agent("young", 1)) << "told to die, it comes back as old as it was";
}

TEST_F(AgentsDesk, refuses_an_older_life_and_ends_its_waiting) {
    desk.lock("young", "r");
    const Waited first_life = wait("old", {{"r"}}, 1);
    EXPECT_FALSE(*first_life);
    EXPECT_NE(lock_as("old", "free", 2), 0U);
    EXPECT_EQ(code(first_life), Code::stale_epoch);
    EXPECT_EQ(code(wait("old", {{"other"}}, 1)), Code::stale_epoch);
    std::vector<Code> codes;
    desk.authority.renew_all({{}, "old", 1, {}, {}, {}}, [&](const Answer<RenewAllAnswer>& answer) {
        codes.push_back(std::get<Refused>(answer).code);
    });
    desk.authority.verify_all("old", 1, [&](const Answer<std::vector<VerifyAnswer>>& answer) {
        codes.push_back(std::get<Refused>(answer).code);
    });
    EXPECT_EQ(codes, (std::vector<Code>{Code::stale_epoch, Code::stale_epoch}));
    EXPECT_EQ(desk.durable.agents.at("old").epoch, 2U) << "and the newer one is written down";
}

TEST_F(AgentsDesk, reserves_what_a_restarting_agent_had_and_gives_it_to_its_next_life_only) {  // R5
    const lease::Token token = lock_as("middle", "r", 1, "first life");
    EXPECT_EQ(std::get<std::size_t>(desk.restarting("middle", 1)), 1U);
    EXPECT_EQ(code(wait("middle", {{"r"}}, 1)), Code::agent_restarting);
    desk.pass(60s + 14'999ms);
    EXPECT_EQ(desk.lock("plain", "r"), 0U);
    std::vector<VerifyAnswer> left;
    desk.authority.verify_all("middle", 2, [&](Answer<std::vector<VerifyAnswer>> answer) {
        left = std::get<std::vector<VerifyAnswer>>(std::move(answer));
    });
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].verified.state, lease::LeaseState::grace);
    EXPECT_EQ(left[0].verified.reserved_for, Duration{1ms});
    EXPECT_GT(lock_as("middle", "r", 2, "second life"), token);
}

TEST_F(AgentsDesk, gives_what_was_reserved_to_others_at_15_s_and_wakes_them) {
    lock_as("young", "r", 1);
    desk.restarting("young", 1);
    const Waited old = wait("old", {{"r"}});
    desk.pass(59s);
    const Waited again = wait("old", {{"r"}});
    desk.pass(16s - 1ms);
    EXPECT_FALSE(*again);
    desk.pass(1ms);
    EXPECT_TRUE(granted(again));
    EXPECT_EQ(lock_as("young", "r", 2), 0U) << "one that comes at 15 s and later does not resume";
}

TEST_F(AgentsDesk, lets_no_life_that_declared_nothing_be_resumed) {
    lock_as("young", "r", 1, "first life");
    EXPECT_EQ(lock_as("young", "r", 2, "second life"), 0U) << "it must wait for the expiry like anybody";
    desk.pass(60s);
    EXPECT_NE(lock_as("young", "r", 2, "second life"), 0U);
}

TEST_F(AgentsDesk, gives_back_a_resumed_lease_as_a_reservation_if_the_rest_of_the_manifest_fails) {
    lock_as("young", "a", 1);
    lock_as("old", "b");
    desk.restarting("young", 1);
    EXPECT_EQ(code(wait("young", {{"a"}, {"b"}}, 2)), Code::die);
    desk.pass(61s);
    EXPECT_EQ(desk.lock("plain", "a"), 0U);
    EXPECT_NE(lock_as("young", "a", 2), 0U);
}

TEST_F(AgentsDesk, makes_a_registration_durable_before_it_answers) {
    desk.durable.hold = true;
    EXPECT_FALSE(desk.agent("new", 5));
    desk.durable.answer_one();
    EXPECT_EQ(desk.durable.agents.at("new"), (store::SavedAgent{"new", 5, 1, false}));
}

TEST_F(AgentsDesk, changes_nothing_when_the_disk_refuses) {
    desk.durable.outcome = Error{Code::storage_failed, "no room"};
    EXPECT_FALSE(desk.agent("new", 5));
    EXPECT_FALSE(desk.agent("old", 5));
    std::optional<Code> refused;
    desk.authority.forget_agent("young", [&](const Answer<bool>& answer) { refused = std::get<Refused>(answer).code; });
    EXPECT_EQ(refused, Code::storage_failed);
    desk.durable.outcome = {};
    const AgentPage page = desk.authority.agents("", 10);
    ASSERT_EQ(page.agents.size(), 3U);
    EXPECT_EQ(page.agents[1].priority, 100);
}

TEST_F(AgentsDesk, writes_down_once_more_with_the_next_request_what_the_disk_refused) {
    desk.durable.outcome = Error{Code::unavailable, "nobody leads"};
    lock_as("old", "free", 2);
    desk.durable.agents.clear();
    desk.durable.outcome = {};
    lock_as("old", "other", 2);
    EXPECT_EQ(desk.durable.agents.at("old").epoch, 2U);
    desk.durable.agents.clear();
    lock_as("old", "another", 2);
    EXPECT_TRUE(desk.durable.agents.empty()) << "but not for ever";
}

TEST_F(AgentsDesk, takes_in_the_lives_that_other_nodes_have_seen) {  // G5
    desk.authority.take_agent({"elsewhere", 9, 4, false});
    EXPECT_EQ(code(wait("elsewhere", {{"r"}}, 3)), Code::stale_epoch);
    desk.lock("young", "r");
    const Waited first_life = wait("old", {{"r"}}, 1);
    EXPECT_FALSE(*first_life);
    desk.authority.take_agent({"old", 100, 2, false});
    EXPECT_EQ(code(first_life), Code::stale_epoch);
    desk.authority.take_agent({"old", 100, 1, true});
    EXPECT_NE(lock_as("old", "free", 2), 0U) << "what an older life said comes too late";
    const Waited waits = wait("middle", {{"r"}}, 1);
    EXPECT_FALSE(*waits);
    desk.authority.take_agent({"middle", 200, 1, true});
    EXPECT_EQ(code(waits), Code::agent_restarting);
}

TEST_F(AgentsDesk, leaves_a_waiting_request_its_priority_whatever_other_nodes_make_of_its_agent) {  // G5
    const lease::Token token = desk.lock("young", "r");
    const Waited older = wait("old", {{"r"}});
    const Waited younger = wait("middle", {{"r"}});
    desk.authority.take_agent({"old", 900, 1, false});
    desk.authority.take_forgotten_agent("middle");
    EXPECT_FALSE(*older);
    EXPECT_FALSE(*younger);
    desk.unlock("young", "r", token);
    EXPECT_TRUE(granted(older));
    EXPECT_FALSE(*younger);
    EXPECT_FALSE(desk.authority.is_agent("middle"));
}

TEST_F(AgentsDesk, keeps_an_agent_that_another_node_registered_while_its_own_attempt_failed) {
    desk.durable.hold = true;
    desk.agent("new", 5);
    desk.agent("old", 7);
    desk.authority.take_agent({"new", 6, 1, false});
    desk.authority.take_agent({"old", 8, 1, false});
    desk.durable.outcome = Error{Code::unavailable, "nobody leads"};
    desk.durable.answer_one();
    desk.durable.answer_one();
    const AgentPage page = desk.authority.agents("", 10);
    ASSERT_EQ(page.agents.size(), 4U);
    EXPECT_EQ(page.agents[1].priority, 6);
    EXPECT_EQ(page.agents[2].priority, 8);
}

TEST_F(AgentsDesk, keeps_the_priority_that_another_node_registered_while_its_own_attempt_with_the_same_one_failed) {
    desk.durable.hold = true;
    desk.agent("new", 5);
    desk.agent("old", 7);
    desk.authority.take_agent({"new", 5, 1, false});
    desk.authority.take_agent({"old", 7, 1, false});
    desk.durable.outcome = Error{Code::unavailable, "nobody leads"};
    desk.durable.answer_one();
    desk.durable.answer_one();
    const AgentPage page = desk.authority.agents("", 10);
    ASSERT_EQ(page.agents.size(), 4U);
    EXPECT_EQ(page.agents[1].priority, 5);
    EXPECT_EQ(page.agents[2].priority, 7);
}

TEST_F(AgentsDesk, takes_in_all_agents_there_are_in_place_of_those_it_knew) {
    desk.authority.take_agents({{"old", {"old", 150, 1, false}}, {"other", {"other", 1, 1, false}}});
    const AgentPage page = desk.authority.agents("", 10);
    ASSERT_EQ(page.agents.size(), 2U);
    EXPECT_EQ(page.agents[0].priority, 150);
    EXPECT_EQ(page.agents[1].id, "other");
}

TEST_F(AgentsDesk, says_when_a_quota_cut_the_ttl) {  // R6
    PolicyChange change;
    change.hold_max = Duration{5s};
    desk.authority.change_policy(change, [](const Answer<lease::Policy>&) {});
    const auto answer = desk.ask(Desk::request("a", {{"r"}}));
    const auto& cut = std::get<AcquireGranted>(*answer).ttl_cut;
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->requested, 60s);
    EXPECT_EQ(cut->granted, 5s);
}

TEST_F(AgentsDesk, forgets_only_agents_that_neither_hold_nor_wait) {
    std::optional<Answer<bool>> told;
    const auto forget = [&](const std::string& id) {
        desk.authority.forget_agent(id, [&](Answer<bool> answer) { told = std::move(answer); });
    };
    const lease::Token token = desk.lock("old", "r");
    forget("old");
    EXPECT_EQ(std::get<Refused>(*told).code, Code::agent_busy);
    desk.unlock("old", "r", token);
    forget("old");
    EXPECT_TRUE(std::get<bool>(*told));
    forget("old");
    EXPECT_FALSE(std::get<bool>(*told));
    EXPECT_FALSE(desk.durable.agents.contains("old"));
}

TEST_F(AgentsDesk, lists_agents_page_by_page) {
    AgentPage page = desk.authority.agents("", 2);
    ASSERT_EQ(page.agents.size(), 2U);
    EXPECT_EQ(page.agents[0].id, "middle");
    EXPECT_TRUE(page.more);
    page = desk.authority.agents("old", 2);
    ASSERT_EQ(page.agents.size(), 1U);
    EXPECT_EQ(page.agents[0].id, "young");
    EXPECT_FALSE(page.more);
}

TEST_F(AgentsDesk, lets_agents_unseen_for_long_make_room_and_refuses_when_none_are) {
    for (std::size_t i = desk.durable.agents.size(); i < lease::limits::agents; ++i)
        desk.agent("crowd" + std::to_string(i), 1);
    EXPECT_FALSE(desk.agent("one too many", 1));
    desk.pass(1h);
    EXPECT_TRUE(desk.agent("one too many", 1));
    EXPECT_EQ(desk.durable.agents.size(), lease::limits::agents);
}

TEST_F(AgentsDesk, limits_how_many_leases_a_holder_has) {  // R6
    PolicyChange change;
    change.leases_per_holder_max = 2;
    desk.authority.change_policy(change, [](const Answer<lease::Policy>&) {});
    const lease::Token token = desk.lock("a", "1");
    EXPECT_EQ(code(wait("a", {{"2"}, {"3"}})), Code::over_quota);
    EXPECT_NE(desk.lock("a", "2"), 0U);
    EXPECT_EQ(desk.lock("a", "3"), 0U);
    desk.unlock("a", "1", token);
    EXPECT_NE(desk.lock("a", "3"), 0U);
    EXPECT_EQ(code(wait("b", {{"4"}, {"5"}, {"6"}})), Code::invalid_argument)
        << "never, so it is not told to ask again";
}

TEST_F(AgentsDesk, grants_one_of_a_hundred_that_ask_at_once) {
    std::vector<Waited> all;
    for (int i = 0; i < 100; ++i)
        all.push_back(wait("holder" + std::to_string(i), {{"r"}}));
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Waited& one) { return granted(one); }), 1);
}

TEST_F(AgentsDesk, grants_trees_and_what_lies_in_them_by_the_same_predicates) {
    const lease::Token file = desk.lock("a", "FILE:/src/net/http.cpp");
    const auto busy = desk.ask(Desk::request("b", {{"FILE:/src/**"}}));
    ASSERT_TRUE(std::holds_alternative<AcquireBusy>(*busy));
    EXPECT_EQ(std::get<AcquireBusy>(*busy).conflicts[0].resource, "FILE:/src/net/http.cpp");
    const Waited tree = wait("b", {{"FILE:/src/**"}});
    EXPECT_EQ(desk.lock("c", "FILE:/src/main.cpp"), 0U) << "b was first";
    EXPECT_NE(desk.lock("c", "FILE:/docs/readme"), 0U);
    desk.unlock("a", "FILE:/src/net/http.cpp", file);
    ASSERT_TRUE(granted(tree)) << "the end of a lease below wakes who waits for the tree";
    const Waited below = wait("c", {{"FILE:/src/main.cpp"}});
    EXPECT_FALSE(*below);
    desk.unlock("b", "FILE:/src/**", std::get<AcquireGranted>(**tree).leases[0].lease.token);
    EXPECT_TRUE(granted(below)) << "and the other way round";
}

}  // namespace
}  // namespace holdfast::authority
