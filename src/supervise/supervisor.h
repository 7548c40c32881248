#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "supervise/guarded_command.h"
#include "supervise/signals.h"
#include "supervise/terminal.h"

namespace holdfast::supervise {

/// For a SignalInbox: the signals that a keeper forwards to its command, and those that must not end or stop the keeper
/// itself (SIGTTOU from a terminal it may not write to, SIGPIPE from a pipe without a reader).
std::vector<int> supervised_signals();
/// True for the signals that are forwarded.
bool is_for_the_command(int signal);

/// Watches a started command until it ends, on the keeper's main thread: forwards signals, hands the terminal to the
/// command and back, suspends and resumes with it, and takes over from a guardian that was killed or stopped.
class Supervisor {
 public:
    struct Parts {
        GuardedCommand& command;
        SignalInbox& signals;
        Terminal& terminal;
        bool foreground = false;  ///< the command was started with the terminal
    };
    /// The outcome of the command: its end, or why it could not be run.
    using Ending = std::variant<EndedReport, CannotRunReport>;

    explicit Supervisor(Parts parts) : parts_(parts) {}

    Ending run();

    /// The first forwarded signal that asks the command to end (TERM, INT, HUP, QUIT), if any.
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

}  // namespace holdfast::supervise
