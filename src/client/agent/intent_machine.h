#pragma once

#include <holdfast/agent.h>

#include <optional>
#include <variant>

#include "base/backoff.h"
#include "base/random.h"
#include "base/time.h"

namespace holdfast::client::agent {

/// Decides the next action in the work on a manifest: one event in, one action out. It reads no clock, sends nothing
/// and waits for nothing; its caller performs the action and passes the result as the next event.
///
/// The work continues only under a lease that was granted and not lost since, and that the server has confirmed since
/// it was last uncertain: the server's answer overrides the holder's belief (R3).
class IntentMachine {
 public:
    enum class Action {
        plan,           ///< begin an incarnation and save the intents; then Planned or Denied
        ask,            ///< acquire without waiting; then Granted or Denied
        wait_for_turn,  ///< acquire and wait; then Granted or Denied
        rest,           ///< wait for delay(); then Rested
        begin_life,     ///< release everything and register in the next epoch; then Planned or Denied
        work,           ///< let the work continue; then Troubled or WorkEnded
        pause,          ///< let the work pause; then WorkPaused
        verify,         ///< ask the server for the state of the lease; then Verified
        finish,         ///< the work is over: release the lease
    };

    struct Planned {};
    struct Granted {};
    /// An acquire, a registration or a write that failed.
    struct Denied {
        Failure why;
    };
    struct Rested {};
    /// The lease is uncertain or lost.
    struct Troubled {
        Failure why;
        Duration worked{};  ///< since the lease was acquired
    };
    struct WorkPaused {};
    struct Verified {
        enum class Word { active, gone, superseded, none } word = Word::none;
        bool held = false;  ///< by the holder's own clock (T3)
        Failure why{};      ///< unless active
    };
    struct WorkEnded {
        bool done = false;
        bool held = false;  ///< until the end of the work
    };
    /// The patience ran out, or the work was stopped. May come at any time.
    struct Stopped {
        std::optional<Failure> why;
    };
    using Event = std::variant<Planned, Granted, Denied, Rested, Troubled, WorkPaused, Verified, WorkEnded, Stopped>;

    IntentMachine(OnDie on_die, Random random) : on_die_(on_die), random_(random) {}

    /// The first action is `plan`. REQUIRES: the event answers the last action. Stopped answers every action but
    /// `finish`, which no event answers.
    Action on(const Event& event);

    IntentState state() const { return state_; }
    /// How long to rest.
    Duration delay() const { return delay_; }
    /// The failure that led to the last action, if any; at the end, the reason of the abort.
    const std::optional<Failure>& why() const { return why_; }

 private:
    static constexpr Backoff::Limits backoff_limits{50ms, 10s};

    Action after(const Planned& event);
    Action after(const Granted& event);
    Action after(const Denied& event);
    Action after(const Rested& event);
    Action after(const Troubled& event);
    Action after(const WorkPaused& event);
    Action after(const Verified& event);
    Action after(const WorkEnded& event);
    Action after(const Stopped& event);

    Action move(IntentState to, Action action);
    Action abort(std::optional<Failure> why);
    Action acquire_anew(const Failure& why);
    Action rest(Duration delay, Action then);

    const OnDie on_die_;
    Random random_;
    IntentState state_ = IntentState::planning;
    Action action_ = Action::plan;
    Action after_rest_ = Action::ask;
    Duration delay_{};
    Backoff backoff_{backoff_limits};  ///< after setbacks in a row
    std::optional<Failure> why_;
};

}  // namespace holdfast::client::agent
