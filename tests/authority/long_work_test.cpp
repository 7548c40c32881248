#include "authority/long_work.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "authority/desk.h"
#include "authority/series.h"

namespace holdfast::authority {
namespace {

// ---- LongWork ----

/// Work of so many units, which notes who works.
WorkStep work_of(std::string& who, char name, std::size_t units) {
    return [&who, name, units](Allowance& allowance) mutable {
        for (; units > 0 && !allowance.is_used_up(); --units)
            allowance.use();
        who += name;
        return units > 0;
    };
}

constexpr std::size_t at_once = LongWork::units_at_once;
constexpr std::size_t turn = 32;

void take_turn(LongWork& work) {
    Allowance allowance(turn);
    work.advance(allowance);
}
void take_all_turns(LongWork& work) {
    while (work.has_more())
        take_turn(work);
}

TEST(LongWork, does_little_work_at_once) {
    LongWork work;
    std::string who;
    work.run("ann", work_of(who, 'a', at_once));
    EXPECT_EQ(who, "a");
    EXPECT_FALSE(work.has_more());
}

TEST(LongWork, gives_every_holder_a_part_of_the_turns) {
    LongWork work;
    std::string who;
    work.run("ann", work_of(who, 'a', at_once + 3 * turn));
    work.run("bob", work_of(who, 'b', at_once + 1));
    work.add(work_of(who, 'c', 1));
    EXPECT_EQ(who, "ab") << "what belongs to no request does not run in the time of one";
    take_all_turns(work);
    EXPECT_EQ(who, "ababcaaa");
}

TEST(LongWork, goes_on_with_one_request_of_a_holder_at_a_time) {
    LongWork work;
    std::string who;
    for (const char name : {'1', '2', '3'})
        work.run("ann", work_of(who, name, at_once + 2 * turn));
    work.run("bob", work_of(who, 'b', at_once + 2 * turn));
    who.clear();
    take_all_turns(work);
    EXPECT_EQ(who, "1b1b2233") << "who sends more requests has no larger part";
}

TEST(LongWork, goes_on_with_a_few_holders_at_a_time_and_then_with_those_that_waited_longest) {
    LongWork work;
    std::string who;
    for (char name = 'a'; name < 'k'; ++name)
        work.run({name}, work_of(who, name, at_once + 2 * turn));
    work.run("a", work_of(who, 'A', at_once + 1));
    who.clear();
    work.add(work_of(who, '+', turn));
    take_all_turns(work);
    EXPECT_EQ(who, "abcdefgh+abcdefghijAiji");
}

TEST(LongWork, is_all_done_at_the_end) {
    LongWork work;
    std::string who;
    for (char name = 'a'; name < 'u'; ++name)
        work.run(name < 'k' ? "ann" : std::string(1, name), work_of(who, name, 10 * at_once));
    work.add(work_of(who, '+', 10 * at_once));
    who.clear();
    work.finish();
    EXPECT_FALSE(work.has_more());
    EXPECT_EQ(who.size(), 21U);
    who.clear();
    work.run("ann", work_of(who, 'b', 10 * at_once));
    work.add(work_of(who, 'c', 10 * at_once));
    EXPECT_EQ(who, "bc");
    EXPECT_FALSE(work.has_more());
}

// ---- Series ----

TEST(Series, hands_on_answers_in_the_order_of_the_questions_whatever_the_order_they_come_in) {
    constexpr std::size_t count = 1000;
    std::mt19937 random(1);
    LongWork work;
    std::vector<Series<std::size_t>::Place> asked;
    std::vector<std::size_t> handed_on;
    int ends = 0;
    Series<std::size_t>::run({.count = count,
                              .ask = [&](const Series<std::size_t>::Place& place) { asked.push_back(place); },
                              .each = [&](std::size_t answer) { handed_on.push_back(answer); },
                              .end = [&] { ++ends; },
                              .pace = [&](WorkStep step) { work.run("ann", std::move(step)); }});
    take_all_turns(work);
    EXPECT_EQ(asked.size(), count) << "no question waits for an answer";
    EXPECT_TRUE(handed_on.empty());
    std::shuffle(asked.begin(), asked.end(), random);
    for (const auto& place : asked) {
        place(place.index());
        take_turn(work);
    }
    take_all_turns(work);
    ASSERT_EQ(handed_on.size(), count);
    EXPECT_TRUE(std::is_sorted(handed_on.begin(), handed_on.end()));
    EXPECT_EQ(ends, 1);
}

TEST(Series, of_nothing_ends_at_once) {
    LongWork work;
    int ends = 0;
    Series<int>::run({.count = 0,
                      .ask = [](const Series<int>::Place&) { FAIL(); },
                      .each = [](int) { FAIL(); },
                      .end = [&] { ++ends; },
                      .pace = [&](WorkStep step) { work.run("ann", std::move(step)); }});
    EXPECT_EQ(ends, 1);
}

TEST(Series, that_its_pace_drops_asks_no_more_and_has_no_end) {
    std::optional<Series<int>::Place> last;
    int asked = 0;
    Series<int>::run({.count = 1000,
                      .ask =
                          [&](const Series<int>::Place& place) {
                              ++asked;
                              last = place;
                          },
                      .each = [](int) { FAIL(); },
                      .end = [] { FAIL(); },
                      .pace =
                          [](const WorkStep& step) {
                              Allowance allowance(10);
                              step(allowance);
                          }});
    EXPECT_EQ(asked, 10);
    (*last)(1);  // an answer that comes afterwards
    EXPECT_EQ(asked, 10);
}

// ---- the authority's requests on many leases ----

constexpr std::size_t many = 3000;

struct LongDesk : Desk {
    LongDesk() {
        for (std::size_t i = 0; i < many; ++i)
            names.push_back({"r" + std::to_string(i), lock("many", "r" + std::to_string(i))});
    }

    OneByOne<RenewAnswer> note_renewals() {
        return {.each = [this](RenewAnswer answer) { renewals.push_back(std::move(answer)); },
                .end = [this](const Answer<AllAnswered>& end) { ended = std::holds_alternative<AllAnswered>(end); }};
    }
    void renew_all(OneByOne<RenewAnswer> to, std::optional<std::uint64_t> epoch = {}) {
        RenewRequest request;
        request.holder = "many";
        request.epoch = epoch;
        authority.renew_all(std::move(request), std::move(to));
    }
    /// Takes turns until no work is left. The number of turns.
    int finish() {
        int turns = 0;
        for (; authority.next_deadline() <= now; ++turns)
            authority.advance(now);
        return turns;
    }
    std::size_t renewed() const {
        return static_cast<std::size_t>(std::count_if(renewals.begin(), renewals.end(), [](const RenewAnswer& answer) {
            return std::holds_alternative<RenewedLease>(answer.result);
        }));
    }

    std::vector<lease::LeaseName> names;
    std::vector<RenewAnswer> renewals;
    bool ended = false;
};

TEST(LongRequests, let_the_renewal_of_another_client_pass_between_their_steps) {
    LongDesk desk;
    const lease::Token token = desk.lock("other", "mine");
    desk.renew_all(desk.note_renewals());
    int others = 0;
    while (!desk.ended) {
        const std::size_t before = desk.renewals.size();
        desk.authority.renew({{}, "other", {}, {{{"mine", token}, {}}}, {}, {}},
                             [&](const std::vector<RenewAnswer>& answers) {
                                 others += std::holds_alternative<RenewedLease>(answers.at(0).result) ? 1 : 0;
                             });
        EXPECT_LE(desk.renewals.size(), before + units_before_request) << "it waits for no more than that";
        desk.authority.advance(desk.now);
    }
    EXPECT_GT(others, 10);
    EXPECT_EQ(desk.renewed(), many);
}

TEST(LongRequests, answer_each_lease_in_the_order_of_its_name) {  // R1
    LongDesk desk;
    RenewRequest request;
    request.holder = "many";
    for (const lease::LeaseName& name : desk.names)
        request.leases.push_back({name, {}});
    desk.authority.renew(std::move(request), desk.note_renewals());
    EXPECT_FALSE(desk.ended);
    EXPECT_GT(desk.finish(), 10);
    ASSERT_EQ(desk.renewals.size(), many);
    for (std::size_t i = 0; i < many; ++i)
        ASSERT_EQ(desk.renewals[i].name, desk.names[i]);
}

TEST(LongRequests, judge_each_lease_at_the_time_of_its_step) {  // T2, T6
    LongDesk desk;
    desk.renew_all(desk.note_renewals());
    const std::size_t first = desk.renewals.size();
    EXPECT_GT(first, 0U);
    desk.pass(60s);
    desk.finish();
    EXPECT_TRUE(desk.ended);
    EXPECT_EQ(desk.renewals.size(), many);
    EXPECT_LE(desk.renewed(), first + 1) << "one may have been renewed, and not answered yet";
    EXPECT_GE(desk.renewed(), first);
    EXPECT_EQ(std::get<Refused>(desk.renewals.back().result).code, Code::lease_expired);
}

TEST(LongRequests, of_an_epoch_that_has_passed_renew_nothing_more) {  // G5
    LongDesk desk;
    desk.agent("many", 1, 1);
    desk.renew_all(desk.note_renewals(), 1);
    desk.agent("many", 1, 2);
    desk.finish();
    EXPECT_EQ(desk.renewals.size(), many);
    EXPECT_LT(desk.renewed(), many / 2);
    EXPECT_EQ(std::get<Refused>(desk.renewals.back().result).code, Code::stale_epoch);
}

TEST(LongRequests, that_nobody_waits_for_are_dropped_and_leave_renewed_what_is) {
    LongDesk desk;
    bool connected = true;
    OneByOne<RenewAnswer> to = desk.note_renewals();
    to.pace = [&](const WorkStep& step) {
        desk.authority.run_in_steps("many", [&, step](Allowance& allowance) { return connected && step(allowance); });
    };
    desk.pass(10s);
    desk.renew_all(std::move(to));
    const std::size_t renewed = desk.renewed();
    EXPECT_GT(renewed, 0U);
    connected = false;
    EXPECT_LE(desk.finish(), 1);
    EXPECT_FALSE(desk.ended);
    EXPECT_EQ(desk.renewed(), renewed);
    desk.pass(50s);
    EXPECT_GE(desk.authority.active_leases(), renewed);
    EXPECT_LE(desk.authority.active_leases(), renewed + 1) << "one may have been renewed, and not answered yet";
}

TEST(LongRequests, verify_in_steps_too) {  // R3
    LongDesk desk;
    std::optional<Answer<Together<VerifyAnswer>>> got;
    desk.authority.verify_all(
        "many", {}, together<VerifyAnswer>([&](Answer<Together<VerifyAnswer>> answer) { got = std::move(answer); }));
    EXPECT_FALSE(got);
    desk.unlock("many", desk.names.front().resource, desk.names.front().token);
    desk.unlock("many", desk.names.back().resource, desk.names.back().token);
    EXPECT_GT(desk.finish(), 10);
    ASSERT_TRUE(got);
    const auto& answers = std::get<Together<VerifyAnswer>>(*got).answers;
    EXPECT_EQ(answers.size(), many);
    const auto active = std::count_if(answers.begin(), answers.end(), [](const VerifyAnswer& answer) {
        return answer.verified.state == lease::LeaseState::active;
    });
    EXPECT_LT(active, static_cast<std::ptrdiff_t>(many)) << "one that was released before its step is not active";
    EXPECT_GE(active, static_cast<std::ptrdiff_t>(many) - 2);
}

TEST(LongRequests, reserve_all_leases_of_an_agent_that_restarts) {  // R5
    LongDesk desk;
    desk.agent("many", 1, 1);
    std::optional<Answer<RestartAnswer>> got;
    desk.authority.declare_restart({{}, "many", {}, 1}, [&](Answer<RestartAnswer> answer) { got = std::move(answer); });
    EXPECT_FALSE(got);
    EXPECT_GT(desk.finish(), 10);
    ASSERT_TRUE(got);
    EXPECT_EQ(std::get<RestartAnswer>(*got).reserved, many);
    desk.pass(60s);
    EXPECT_EQ(desk.lock("other", "r0"), 0U);
    EXPECT_EQ(desk.lock("other", "r" + std::to_string(many - 1)), 0U);
}

TEST(LongRequests, mark_no_lease_of_the_epoch_that_follows_a_restart) {  // R5
    LongDesk desk;
    desk.agent("many", 1, 1);
    std::optional<Answer<RestartAnswer>> got;
    desk.authority.declare_restart({{}, "many", {}, 1}, [&](Answer<RestartAnswer> answer) { got = std::move(answer); });
    desk.agent("many", 1, 2);
    desk.finish();
    ASSERT_TRUE(got);
    EXPECT_GT(std::get<RestartAnswer>(*got).reserved, 0U);
    EXPECT_LT(std::get<RestartAnswer>(*got).reserved, many);
}

TEST(LongRequests, are_answered_before_the_authority_has_stopped) {
    LongDesk desk;
    desk.renew_all(desk.note_renewals());
    EXPECT_FALSE(desk.ended);
    desk.authority.stop();
    EXPECT_TRUE(desk.ended);
    EXPECT_EQ(desk.renewed(), many);
    desk.renewals.clear();
    desk.ended = false;
    desk.renew_all(desk.note_renewals());
    EXPECT_TRUE(desk.ended) << "nobody takes turns any more";
    EXPECT_EQ(desk.renewed(), many);
}

TEST(LongRequests, include_the_retries_of_waiters_with_many_intents) {  // G6
    Desk desk;
    const lease::Token token = desk.lock("holder", "a-gate");
    int granted = 0;
    for (std::size_t i = 0; i < 50; ++i) {
        std::vector<lease::Intent> intents{{"a-gate", lease::Predicate::consumes}};
        for (int one = 0; one < 200; ++one)
            intents.push_back({std::to_string(i) + "/" + std::to_string(one)});
        desk.authority.acquire(Desk::request("waiter", std::move(intents), 60s), [&](const AcquireAnswer& answer) {
            granted += std::holds_alternative<AcquireGranted>(answer) ? 1 : 0;
        });
    }
    EXPECT_EQ(desk.authority.waiters(), 50U);
    EXPECT_TRUE(desk.unlock("holder", "a-gate", token));
    EXPECT_GT(granted, 0);
    EXPECT_LT(granted, 10) << "its release does not take longer, whatever waits for it";
    for (int turns = 0; desk.authority.next_deadline() <= desk.now && turns < 1000; ++turns) {
        const int before = granted;
        desk.authority.advance(desk.now);
        EXPECT_LE(granted, before + 1);
    }
    EXPECT_EQ(granted, 50);
}

}  // namespace
}  // namespace holdfast::authority
