#pragma once

#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "supervise/guardian_rules.h"
#include "supervise/messages.h"

namespace holdfast::supervise {

/// The keeper's end of a guarded command: starts the guardian, sends it changes of the lease, and receives reports
/// about the command. The guardian is this executable again, run with a hidden argument (guardian.h), so that it shares
/// no thread, lock or connection with the keeper. Create it before opening any connection: the guardian inherits open
/// fds.
///
/// There are two guardians, the second above the first; the second is this process's child.
///
/// This process becomes the subreaper of its descendants, so that it can clean up even if the guardian is killed. A
/// process that runs several commands must reap its children with waitpid(-1, …): an ended guardian is one of them.
class GuardedCommand {
 public:
    struct Options {
        std::vector<std::string> command;         ///< REQUIRES: not empty
        sigset_t mask{};                          ///< signals blocked when the command starts
        std::string guardian = "/proc/self/exe";  ///< the executable to run as guardian
        bool alone = true;                        ///< false: this process runs other commands at the same time
        int output = -1;                          ///< fd for its output, and it has no input; -1: both inherited
    };

    /// Starts the guardian, not yet the command.
    static Result<GuardedCommand> prepare(const Options& options);

    GuardedCommand(GuardedCommand&& other) noexcept;
    GuardedCommand& operator=(GuardedCommand&&) = delete;
    /// Kills every process that is left.
    ~GuardedCommand();

    /// Lets the guardian start the command. Fails if the environment is too large or the guardian is gone.
    Result<void> start(const StartOrder& order);

    /// Callable from any thread; never block. An order that cannot be sent is dropped: the guardian then acts on the
    /// last deadlines it received, which are earlier.
    void renewed(WorkDeadlines deadlines);
    void lost();
    /// Asks the command to stop and has it killed at this instant, or at the guardian's deadline if that is earlier.
    /// False if the order could not be sent; the guardian then acts on its deadlines.
    bool stop(HolderInstant kill_at);

    /// The hard deadline last sent to the guardian.
    HolderInstant hard() const { return HolderInstant{Duration{hard_.load()}}; }

    /// Readable when there is a report, or when the guardian is gone.
    int fd() const { return guardian_socket_.get(); }
    struct Heard {
        bool guardian_gone = false;
        std::optional<Report> report;
    };
    Heard hear();

    /// The process id of the second guardian, the ancestor of all others; zero once the end was reported.
    pid_t guardian() const { return guardian_; }
    /// The command's process group; zero before it runs.
    pid_t group() const { return group_; }
    /// Sends a signal to the command's group, if it runs.
    void signal(int signal);
    /// Forwards a signal that asks the command to end: SIGTERM to all its processes, others to its group.
    void ask_to_end(int signal);

    /// Kills the command and all its processes, but leaves the guardian alive to report.
    void kill_command();
    /// Kills the command and the guardian, and waits until all their processes are dead. Does nothing once the end was
    /// reported.
    void destroy();
    /// As destroy(), but does not wait. True once all their processes are dead; until then, call it again.
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
    std::vector<pid_t> strangers_;  ///< if alone: children this process had before, which must not be killed
    std::vector<pid_t> family_;     ///< if not alone: processes seen below the guardian
    std::atomic<std::int64_t> hard_{0};
};

}  // namespace holdfast::supervise
