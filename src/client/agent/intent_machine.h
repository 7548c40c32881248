#pragma once

#include <holdfast/agent.h>

#include <optional>
#include <variant>

#include "base/random.h"
#include "base/time.h"

namespace holdfast {

/// Decides what comes next in the work on a manifest: one event in, one action out. It reads no clock, sends nothing
/// and waits for nothing; whoever drives it does what the action says and brings back what came of it.
///
/// The work goes on only under a lease that was granted and not lost since, and that the server confirmed since it was
/// last in doubt: what the server says overrides what the holder believes (R3).
class IntentMachine {
 public:
    enum class Action {
        plan,           ///< begin a life, write down what is about to be asked for; then Planned or Denied
        ask,            ///< ask without waiting; then Granted or Denied
        wait_for_turn,  ///< ask and wait; then Granted or Denied
        rest,           ///< wait for delay(); then Rested
        begin_life,     ///< let go of everything and register in the next epoch; then Planned or Denied
        work,           ///< let the work go on; then Troubled or WorkEnded
        pause,          ///< let the work pause; then WorkPaused
        verify,         ///< ask the server what is true; then Verified
        finish,         ///< it is over: let go
    };

    struct Planned {};
    struct Granted {};
    /// An acquire, a registration or a write that came to nothing.
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
        bool held = false;  ///< to the last
    };
    /// The patience is at an end, or somebody wants it to end. At any time.
    struct Stopped {
        std::optional<Failure> why;
    };
    using Event = std::variant<Planned, Granted, Denied, Rested, Troubled, WorkPaused, Verified, WorkEnded, Stopped>;

    IntentMachine(OnDie on_die, Random random) : on_die_(on_die), random_(random) {}

    /// The first action is to plan. REQUIRES: the event answers the last action; Stopped always does, once it is over
    /// nothing does.
    Action on(const Event& event);

    IntentState state() const { return state_; }
    /// How long to rest.
    Duration delay() const { return delay_; }
    /// What led to the last action, if it was not the way things should go; at the end, why it was aborted.
    const std::optional<Failure>& why() const { return why_; }

 private:
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
    Duration backoff();

    const OnDie on_die_;
    Random random_;
    IntentState state_ = IntentState::planning;
    Action action_ = Action::plan;
    Action after_rest_ = Action::ask;
    Duration delay_{};
    unsigned setbacks_ = 0;  ///< in a row
    std::optional<Failure> why_;
};

}  // namespace holdfast
