#include "client/agent/intent_machine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace holdfast::client::agent {
namespace {

using Machine = IntentMachine;
using Action = Machine::Action;
using Word = Machine::Verified::Word;
using State = IntentState;

Failure failure(Outcome outcome, std::optional<std::chrono::milliseconds> retry_in = {}) {
    return {.outcome = outcome, .code = to_string(outcome), .message = "m", .conflicts = {}, .retry_in = retry_in};
}

Machine::Denied denied(Outcome outcome) {
    return {failure(outcome, 180ms)};
}

Machine::Verified verified(Word word, bool held) {
    return {word, held, failure(Outcome::lost)};
}

const Machine::Troubled uncertain{failure(Outcome::uncertain), 1s};
const Machine::Troubled lost{failure(Outcome::lost), 1s};

/// One way through the machine: events, and after each the state and the action.
struct Turn {
    Machine::Event event;
    State state;
    Action action;
};
struct Way {
    const char* name;
    OnDie on_die;
    std::vector<Turn> turns;
};

const Turn planned{Machine::Planned{}, State::acquiring, Action::ask};
const Turn granted{Machine::Granted{}, State::executing, Action::work};
const Turn done{Machine::WorkEnded{true, true}, State::completed, Action::finish};
const Turn pausing{uncertain, State::paused, Action::pause};
const Turn paused{Machine::WorkPaused{}, State::verifying, Action::verify};
const Turn gone{verified(Word::gone, false), State::acquiring, Action::rest};
const Turn rested_to_ask{Machine::Rested{}, State::acquiring, Action::ask};
const Turn rested_to_wait{Machine::Rested{}, State::acquiring, Action::wait_for_turn};

const std::vector<Way> ways{
    {"straight", OnDie::come_back, {planned, granted, done}},
    {"waits in the queue once it knows who is in the way",
     OnDie::come_back,
     {planned,
      {denied(Outcome::busy), State::acquiring, Action::wait_for_turn},
      {denied(Outcome::busy), State::acquiring, Action::rest},
      rested_to_wait,
      granted,
      done}},
    {"rests while there is no server",
     OnDie::come_back,
     {planned, {denied(Outcome::unreachable), State::acquiring, Action::rest}, rested_to_wait, granted, done}},
    {"rests while it cannot even register",
     OnDie::come_back,
     {{denied(Outcome::unreachable), State::planning, Action::rest},
      {Machine::Rested{}, State::planning, Action::plan},
      planned,
      granted,
      done}},
    {"gives up if refused", OnDie::come_back, {planned, {denied(Outcome::refused), State::aborted, Action::finish}}},
    {"comes back in its next life when told to die",
     OnDie::come_back,
     {planned,
      {denied(Outcome::die), State::planning, Action::rest},
      {Machine::Rested{}, State::planning, Action::begin_life},
      {denied(Outcome::unreachable), State::planning, Action::rest},
      {Machine::Rested{}, State::planning, Action::begin_life},
      planned,
      granted,
      done}},
    {"comes back in its next life when told to die in the queue",
     OnDie::come_back,
     {planned,
      {denied(Outcome::busy), State::acquiring, Action::wait_for_turn},
      {denied(Outcome::die), State::planning, Action::rest},
      {Machine::Rested{}, State::planning, Action::begin_life},
      planned,
      granted,
      done}},
    {"leaves when told to die, if it should",
     OnDie::leave,
     {planned, {denied(Outcome::die), State::aborted, Action::finish}}},
    {"goes on under a lease that was only in doubt",
     OnDie::come_back,
     {planned, granted, pausing, paused, {verified(Word::active, true), State::executing, Action::work}, done}},
    {"asks again who is right while the server is silent and the lease is held",
     OnDie::come_back,
     {planned,
      granted,
      pausing,
      paused,
      {verified(Word::none, true), State::verifying, Action::rest},
      {Machine::Rested{}, State::verifying, Action::verify},
      {verified(Word::active, true), State::executing, Action::work},
      done}},
    {"acquires anew once the silence has cost the lease",
     OnDie::come_back,
     {planned,
      granted,
      pausing,
      paused,
      {verified(Word::none, false), State::acquiring, Action::rest},
      rested_to_ask,
      granted,
      done}},
    {"acquires a lost lease anew",
     OnDie::come_back,
     {planned, granted, {lost, State::paused, Action::pause}, paused, gone, rested_to_ask, granted, done}},
    {"does not go on under a lease that only the server believes in (T3)",
     OnDie::come_back,
     {planned,
      granted,
      {lost, State::paused, Action::pause},
      paused,
      {verified(Word::active, false), State::acquiring, Action::rest},
      rested_to_ask,
      granted,
      done}},
    {"ends when a newer life of the agent is there",
     OnDie::come_back,
     {planned, granted, pausing, paused, {verified(Word::superseded, true), State::aborted, Action::finish}}},
    {"is told to die while it acquires a lost lease anew",
     OnDie::leave,
     {planned, granted, pausing, paused, gone, rested_to_ask, {denied(Outcome::die), State::aborted, Action::finish}}},
    {"is not complete if the lease was gone at the end",
     OnDie::come_back,
     {planned, granted, {Machine::WorkEnded{true, false}, State::aborted, Action::finish}}},
    {"is aborted if the work gave up",
     OnDie::come_back,
     {planned, granted, {Machine::WorkEnded{false, true}, State::aborted, Action::finish}}},
};

TEST(IntentMachine, goes_every_way_as_described) {
    for (const Way& way : ways) {
        Machine machine(way.on_die, Random(1));
        int number = 0;
        for (const Turn& turn : way.turns) {
            ++number;
            ASSERT_EQ(machine.on(turn.event), turn.action) << way.name << ", turn " << number;
            ASSERT_EQ(machine.state(), turn.state) << way.name << ", turn " << number;
        }
    }
}

TEST(IntentMachine, says_why_it_left_the_straight_way_and_only_then) {
    Machine machine(OnDie::come_back, Random(1));
    machine.on(Machine::Planned{});
    EXPECT_FALSE(machine.why());
    machine.on(denied(Outcome::busy));
    EXPECT_EQ(machine.why()->code, "busy");
    machine.on(Machine::Granted{});
    EXPECT_FALSE(machine.why());
    machine.on(uncertain);
    EXPECT_EQ(machine.why()->code, "uncertain");
    machine.on(Machine::Stopped{failure(Outcome::unreachable)});
    EXPECT_EQ(machine.why()->code, "unreachable");
}

TEST(IntentMachine, stays_away_as_long_as_the_server_said) {
    Machine machine(OnDie::come_back, Random(1));
    machine.on(Machine::Planned{});
    machine.on(denied(Outcome::die));
    EXPECT_EQ(machine.delay(), 180ms);
}

TEST(IntentMachine, rests_twice_as_long_after_each_setback_up_to_a_limit) {
    Machine machine(OnDie::come_back, Random(7));
    machine.on(Machine::Planned{});
    Duration least = 25ms;
    for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(machine.on(denied(Outcome::unreachable)), Action::rest);
        EXPECT_GE(machine.delay(), least);
        EXPECT_LE(machine.delay(), least * 2);
        least = std::min<Duration>(least * 2, 5s);
        machine.on(Machine::Rested{});
    }
}

TEST(IntentMachine, forgets_setbacks_once_the_work_went_well_for_a_while) {
    const auto rest_after_losses = [](Duration worked) {
        Machine machine(OnDie::come_back, Random(7));
        machine.on(Machine::Planned{});
        for (int i = 0; i < 8; ++i) {
            machine.on(Machine::Granted{});
            machine.on(Machine::Troubled{failure(Outcome::lost), worked});
            machine.on(Machine::WorkPaused{});
            machine.on(verified(Word::gone, false));
            machine.on(Machine::Rested{});
        }
        machine.on(Machine::Granted{});
        machine.on(Machine::Troubled{failure(Outcome::lost), worked});
        machine.on(Machine::WorkPaused{});
        machine.on(verified(Word::gone, false));
        return machine.delay();
    };
    EXPECT_GE(rest_after_losses(1s), 5s);
    EXPECT_LE(rest_after_losses(1min), 50ms);
}

/// What the world may bring in answer to an action.
Machine::Event some_answer(Action action, bool held) {
    const auto outcome = [] {
        return *rc::gen::element(Outcome::busy, Outcome::unreachable, Outcome::lost, Outcome::refused, Outcome::die);
    };
    const bool coin = *rc::gen::arbitrary<bool>();
    switch (action) {
        case Action::plan:
        case Action::begin_life:
            if (coin) return Machine::Planned{};
            return denied(outcome());
        case Action::ask:
        case Action::wait_for_turn:
            if (coin) return Machine::Granted{};
            return denied(outcome());
        case Action::rest:
            return Machine::Rested{};
        case Action::work:
            if (*rc::gen::inRange(0, 4) > 0)
                return Machine::Troubled{failure(held ? Outcome::uncertain : Outcome::lost), 1s};
            return Machine::WorkEnded{coin, held};
        case Action::pause:
            return Machine::WorkPaused{};
        case Action::verify:
            return verified(*rc::gen::element(Word::active, Word::gone, Word::superseded, Word::none), held);
        case Action::finish:
            break;
    }
    return Machine::Stopped{};
}

RC_GTEST_PROP(IntentMachine, never_works_without_a_held_lease_and_always_ends, ()) {
    Machine machine(*rc::gen::element(OnDie::come_back, OnDie::leave), Random(*rc::gen::arbitrary<std::uint64_t>()));
    bool held = false;      // by the holder's clock
    bool in_doubt = false;  // since the server last spoke for it
    Action action = Action::plan;
    int turns = 0;
    const int stopped_at = *rc::gen::inRange(1, 200);
    while (action != Action::finish) {
        if (held && *rc::gen::inRange(0, 5) == 0) held = false;  // it runs out at any time
        const Machine::Event event =
            ++turns >= stopped_at ? Machine::Event{Machine::Stopped{}} : some_answer(action, held);
        if (std::holds_alternative<Machine::Granted>(event)) held = true, in_doubt = false;
        if (std::holds_alternative<Machine::Troubled>(event)) in_doubt = true;
        if (const auto* word = std::get_if<Machine::Verified>(&event)) in_doubt = word->word != Word::active;
        action = machine.on(event);
        RC_ASSERT((machine.state() == State::executing) == (action == Action::work));
        if (machine.state() == State::executing) RC_ASSERT(held && !in_doubt);
        if (machine.state() == State::completed) RC_ASSERT(held && !in_doubt);
        if (action == Action::rest) RC_ASSERT(machine.delay() > 0s && machine.delay() <= 5min);
        RC_ASSERT(turns <= stopped_at);
    }
    RC_ASSERT(machine.state() == State::completed || machine.state() == State::aborted);
    RC_CLASSIFY(machine.state() == State::completed, "completed");
    RC_CLASSIFY(turns > 20, "a long way");
}

}  // namespace
}  // namespace holdfast::client::agent
