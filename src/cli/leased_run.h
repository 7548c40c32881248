#pragma once

#include <holdfast/client.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/wakeup.h"
#include "cli/screen.h"
#include "supervise/guarded_command.h"
#include "supervise/signals.h"

namespace holdfast::cli {

/// Acquires leases for `run` and `elect` on a separate thread, so that a signal can end the wait. Prints whom it waits
/// for.
class AcquireTask {
 public:
    /// REQUIRES: the options and the screen outlive this object.
    AcquireTask(const CommonOptions& common, const TakeOptions& take, const Screen& screen);
    ~AcquireTask() { answer(); }
    AcquireTask(const AcquireTask&) = delete;
    AcquireTask& operator=(const AcquireTask&) = delete;

    /// Readable when there is an answer.
    int fd() const { return done_.fd(); }
    /// Waits at most this long; true if there is an answer.
    bool wait(std::chrono::milliseconds time) const;
    /// Blocks until there is an answer, if fd() is not readable.
    Acquired& answer();
    /// Cancels the wait: the answer comes soon, and unless it is a lease, no lease is left behind.
    void give_up() { stop_.request_stop(); }

 private:
    void run();
    void acquire(const std::vector<Intent>& intents);
    std::optional<Failure> register_agent_first();
    bool waits() const { return take_.wait_for_ever || take_.wait.value_or(0s) > 0s; }

    Client client_;
    const CommonOptions& common_;
    const TakeOptions& take_;
    const Screen& screen_;
    Wakeup done_;
    std::stop_source stop_;
    std::optional<Acquired> answer_;
    std::thread thread_;
};

/// A command under leases, from the guardian's start to the leases' release: for `run`, and for each term of `elect`.
/// The command is dead before the server may grant its leases to another (T3, T4).
class LeasedRun {
 public:
    struct Parts {
        const CommonOptions& common;
        const TakeOptions& take;
        const Screen& screen;
        supervise::SignalInbox& signals;  ///< of supervised_signals()
        std::vector<std::string> environment{};
        std::function<void(const Lease&)> on_granted{};
    };
    struct Ending {
        int exit_code = 0;                 ///< of the whole holdfast command
        bool lost = false;                 ///< the leases could not be kept, and the command was stopped for it
        std::optional<int> told_to_end{};  ///< the signal that ended it
    };

    explicit LeasedRun(Parts parts) : parts_(std::move(parts)) {}

    /// REQUIRES: this process has no other threads. A signal that ends the wait for a turn ends the process.
    Ending run();

 private:
    Ending complain(const Error& error, int exit_code) const;
    void await(AcquireTask& task, supervise::GuardedCommand& command);
    [[noreturn]] static void give_up(AcquireTask& task, supervise::GuardedCommand& command, int signal);
    Ending work(supervise::GuardedCommand& command, Lease& lease);
    void inform_guardian(supervise::GuardedCommand& command, Lease& lease);
    Ending cannot_run(int error) const;
    Ending ended(const supervise::EndedReport& report) const;

    Parts parts_;
    std::mutex sending_;
    std::atomic<bool> lost_ = false;
};

}  // namespace holdfast::cli
