#include "client/agent/intent_machine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace holdfast::client::agent {

namespace {

/// After work has gone well for this long, the backoff starts over.
constexpr Duration went_well = 30s;
/// The server's DIE says how long to stay away. This limit keeps a nonsensical value from blocking the agent for ever.
constexpr Duration max_death = 5min;

using Action = IntentMachine::Action;

/// True if a retry of the same request can succeed.
bool passes(Outcome outcome) {
    return outcome == Outcome::busy || outcome == Outcome::unreachable || outcome == Outcome::lost ||
           outcome == Outcome::uncertain;
}

template <class... T>
bool is(const IntentMachine::Event& event) {
    return (std::holds_alternative<T>(event) || ...);
}

bool answers(const IntentMachine::Event& event, Action action) {
    using Machine = IntentMachine;
    if (is<Machine::Stopped>(event)) return action != Action::finish;
    switch (action) {
        case Action::plan:
        case Action::begin_life:
            return is<Machine::Planned, Machine::Denied>(event);
        case Action::ask:
        case Action::wait_for_turn:
            return is<Machine::Granted, Machine::Denied>(event);
        case Action::rest:
            return is<Machine::Rested>(event);
        case Action::work:
            return is<Machine::Troubled, Machine::WorkEnded>(event);
        case Action::pause:
            return is<Machine::WorkPaused>(event);
        case Action::verify:
            return is<Machine::Verified>(event);
        case Action::finish:
            return false;
    }
    return false;
}

}  // namespace

Action IntentMachine::on(const Event& event) {
    HOLDFAST_ASSERT(answers(event, action_));
    why_.reset();
    delay_ = {};
    return action_ = std::visit([this](const auto& given) { return after(given); }, event);
}

Action IntentMachine::after(const Planned&) {
    return move(IntentState::acquiring, Action::ask);
}

Action IntentMachine::after(const Granted&) {
    return move(IntentState::executing, Action::work);
}

/// The first acquire does not wait: its answer names the conflicts, which are reported to the program. The next one
/// waits in the queue.
Action IntentMachine::after(const Denied& denied) {
    const Failure& why = denied.why;
    if (why.outcome == Outcome::die && on_die_ == OnDie::come_back) {
        why_ = why;
        state_ = IntentState::planning;
        return rest(std::clamp<Duration>(why.retry_in.value_or(0ms), backoff_limits.first, max_death),
                    Action::begin_life);
    }
    if (!passes(why.outcome)) return abort(why);
    why_ = why;
    if (action_ == Action::ask && why.outcome == Outcome::busy) return Action::wait_for_turn;
    return rest(backoff_.next(random_), state_ == IntentState::planning ? action_ : Action::wait_for_turn);
}

Action IntentMachine::after(const Rested&) {
    return after_rest_;
}

Action IntentMachine::after(const Troubled& troubled) {
    if (troubled.worked >= went_well) backoff_.reset();
    why_ = troubled.why;
    return move(IntentState::paused, Action::pause);
}

Action IntentMachine::after(const WorkPaused&) {
    return move(IntentState::verifying, Action::verify);
}

/// R3. The holder's own clock may end a lease that the server still has (T3), never the other way round.
Action IntentMachine::after(const Verified& verified) {
    switch (verified.word) {
        case Verified::Word::active:
            if (verified.held) return move(IntentState::executing, Action::work);
            return acquire_anew(verified.why);
        case Verified::Word::gone:
            return acquire_anew(verified.why);
        case Verified::Word::superseded:
            return abort(verified.why);
        case Verified::Word::none:
            break;
    }
    if (!verified.held) return acquire_anew(verified.why);
    why_ = verified.why;
    return rest(backoff_.next(random_), Action::verify);
}

Action IntentMachine::after(const WorkEnded& ended) {
    if (!ended.done) return abort(std::nullopt);
    if (ended.held) return move(IntentState::completed, Action::finish);
    return abort(Failure{
        .outcome = Outcome::lost, .code = "lease_expired", .message = "the lease was lost before the work was done"});
}

Action IntentMachine::after(const Stopped& stopped) {
    return abort(stopped.why);
}

Action IntentMachine::move(IntentState to, Action action) {
    state_ = to;
    return action;
}

Action IntentMachine::abort(std::optional<Failure> why) {
    why_ = std::move(why);
    return move(IntentState::aborted, Action::finish);
}

Action IntentMachine::acquire_anew(const Failure& why) {
    why_ = why;
    state_ = IntentState::acquiring;
    return rest(backoff_.next(random_), Action::ask);
}

Action IntentMachine::rest(Duration delay, Action then) {
    delay_ = delay;
    after_rest_ = then;
    return Action::rest;
}

}  // namespace holdfast::client::agent
