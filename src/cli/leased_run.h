#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/screen.h"
#include "cli/taking.h"
#include "supervise/guarded_command.h"
#include "supervise/signals.h"

namespace holdfast {

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
