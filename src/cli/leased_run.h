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

#include "cli/screen.h"
#include "supervise/fd.h"
#include "supervise/guarded_command.h"
#include "supervise/signals.h"

namespace holdfast {

/// Takes leases for `run` and `elect` in a thread of its own, so that a signal can end the wait. Says whom it waits
/// for.
class Taking {
 public:
    /// The options and the screen must outlive it.
    Taking(const CommonOptions& common, const TakeOptions& take, const Screen& screen);
    ~Taking() { answer(); }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

    /// Readable when there is an answer.
    int fd() const { return done_.get(); }
    /// True if there is one within this time.
    bool wait(std::chrono::milliseconds time) const;
    /// Waits for it, if fd() is not readable.
    Acquired& answer();
    /// Breaks the wait off: an answer comes soon, and leaves no lease behind unless it is one.
    void give_up() { stop_.request_stop(); }

 private:
    void run();
    void acquire(const std::vector<Intent>& intents);
    std::optional<Failure> enrol();
    bool waits() const { return take_.wait_for_ever || take_.wait.value_or(0s) > 0s; }

    Client client_;
    const CommonOptions& common_;
    const TakeOptions& take_;
    const Screen& screen_;
    Fd done_;
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
        SignalInbox& signals;  ///< of supervised_signals()
        std::vector<std::string> environment{};
        std::function<void(const Lease&)> on_granted{};
    };
    struct Ending {
        int exit_code = 0;                 ///< for the whole command
        bool lost = false;                 ///< the leases could not be kept, and the command was stopped for it
        std::optional<int> told_to_end{};  ///< by this signal
    };

    explicit LeasedRun(Parts parts) : parts_(std::move(parts)) {}

    /// REQUIRES: this process has no other threads. A signal that ends the wait for a turn ends the process.
    Ending run();

 private:
    Ending complain(const Error& error, int exit_code) const;
    void await(Taking& taking, GuardedCommand& command);
    [[noreturn]] static void give_up(Taking& taking, GuardedCommand& command, int signal);
    Ending work(GuardedCommand& command, Lease& lease);
    void keep_told(GuardedCommand& command, Lease& lease);
    Ending cannot_run(int error) const;
    Ending ended(const EndedReport& report) const;

    Parts parts_;
    std::mutex telling_;
    std::atomic<bool> lost_ = false;
};

}  // namespace holdfast
