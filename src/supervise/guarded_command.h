#pragma once

#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"
#include "supervise/fd.h"
#include "supervise/messages.h"
#include "supervise/work_deadlines.h"

namespace holdfast {

/// The keeper's end of a guarded command: starts the guardian, tells it how the lease fares, hears what becomes of the
/// command. The guardian is this executable again, run with a hidden argument (guardian.h), so that it shares no
/// thread, lock or connection with the keeper. Make it before connecting anywhere: the guardian inherits what is open.
///
/// There are two guardians, the second above the first; the second is this process's child.
///
/// This process becomes the subreaper of what it starts, so that it can clean up even if the guardian is killed.
/// Whoever runs many in turn waits for its children, with waitpid(-1, …): an ended guardian is one.
class GuardedCommand {
 public:
    struct Options {
        std::vector<std::string> command;         ///< REQUIRES: not empty
        sigset_t mask{};                          ///< what the command starts with blocked
        std::string guardian = "/proc/self/exe";  ///< the executable to run as guardian
        bool alone = true;                        ///< false: this process has other commands running beside it
        int output = -1;                          ///< where the command writes; it then also has no input
    };

    /// Starts the guardian, not yet the command.
    static Result<GuardedCommand> prepare(const Options& options);

    GuardedCommand(GuardedCommand&& other) noexcept;
    GuardedCommand& operator=(GuardedCommand&&) = delete;
    /// Kills whatever is left.
    ~GuardedCommand();

    /// Lets the guardian start the command. Fails if the environment is too large or the guardian is gone.
    Result<void> start(const StartOrder& order);

    /// From any thread, never blocking. An order that cannot be sent is dropped: the guardian then acts on the last
    /// deadlines it knows, which come sooner.
    void renewed(WorkDeadlines deadlines);
    void lost();
    /// Asks the command to stop and has it killed at this instant, or at the deadline the guardian knows if that comes
    /// sooner. False if the guardian could not be told now; it then acts on its deadlines.
    bool stop(HolderInstant kill_at);

    /// The hard deadline the guardian was last told.
    HolderInstant hard() const { return HolderInstant{Duration{hard_.load()}}; }

    /// Readable when there is a report, or when the guardian is gone.
    int fd() const { return guardian_socket_.get(); }
    struct Heard {
        bool guardian_gone = false;
        std::optional<Report> report;
    };
    Heard hear();

    /// The process id of the second guardian, which is above all others; zero once the end was heard.
    pid_t guardian() const { return guardian_; }
    /// The command's process group; zero before it runs.
    pid_t group() const { return group_; }
    /// Sends a signal to the command's group, if it runs.
    void signal(int signal);
    /// Passes a signal on that asks the command to end: SIGTERM to all it started, others to its group.
    void ask_to_end(int signal);

    /// Kills the command and all it started, but leaves the guardian to report.
    void kill_command();
    /// Kills the command and the guardian, and waits until nothing of them lives. Does nothing once the end was heard.
    void destroy();
    /// As destroy(), but does not wait: true once nothing of them lives. Until then, to be called again.
    bool destroyed();

 private:
    GuardedCommand(pid_t guardian, Fd socket, bool alone);

    void reap();
    bool guardian_is_ours() const;
    std::vector<pid_t> living_below_guardians() const;
    std::vector<pid_t> living() const;

    pid_t guardian_ = 0;  ///< the second one
    pid_t first_ = 0;     ///< the guardian below it, once the command runs
    pid_t group_ = 0;
    Fd guardian_socket_;
    bool alone_ = true;
    std::optional<HolderInstant> destroying_since_;
    std::vector<pid_t> strangers_;  ///< children this process had before: not ours to kill; if it is alone
    std::vector<pid_t> family_;     ///< what was seen below the guardian; if it is not
    std::atomic<std::int64_t> hard_{0};
};

}  // namespace holdfast
