#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "supervise/guarded_command.h"
#include "supervise/signals.h"
#include "supervise/terminal.h"

namespace holdfast {

/// The signals a keeper passes on to its command, and those that must not end or stop the keeper itself: a terminal it
/// may not write to, a pipe that nobody reads. For a SignalInbox.
std::vector<int> supervised_signals();
/// True for those that are passed on.
bool is_for_the_command(int signal);

/// Watches a started command to its end, in the keeper's main thread: passes signals on, hands the terminal to the
/// command and back, suspends and resumes with it, and stands in for a guardian that was killed or stopped.
class Supervisor {
 public:
    struct Parts {
        GuardedCommand& command;
        SignalInbox& signals;
        Terminal& terminal;
        bool foreground = false;  ///< the command was started with the terminal
    };
    /// What the command came to: its end, or why it could not be run.
    using Ending = std::variant<EndedReport, CannotRunReport>;

    explicit Supervisor(Parts parts) : parts_(parts) {}

    Ending run();

    /// The first signal that was passed on to make the command end (TERM, INT, HUP, QUIT), if one was.
    std::optional<int> told_to_end() const { return told_to_end_; }

 private:
    void wait();
    std::optional<Ending> hear_guardian();
    void pass_signals_on();
    void on_stopped(int signal);
    void suspend_like_the_command();
    std::optional<Ending> stand_in(HolderInstant now);

    Parts parts_;
    std::optional<HolderInstant> killed_at_;
    std::optional<int> told_to_end_;
};

}  // namespace holdfast
