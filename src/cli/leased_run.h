#pragma once

#include <holdfast/client.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/screen.h"
#include "supervise/signals.h"

namespace holdfast::cli {

/// A command under leases: for `run`, and for each term of `elect`.
struct LeasedRun {
    const CommonOptions& common;
    const TakeOptions& take;
    const Screen& screen;
    supervise::SignalInbox& signals;  ///< of supervised_signals()
    std::vector<std::string> environment{};
    std::function<void(const Lease&)> on_granted{};

    struct Ending {
        int exit_code = 0;                 ///< of the whole holdfast command
        bool lost = false;                 ///< the leases could not be kept, and the command was stopped for it
        std::optional<int> told_to_end{};  ///< the signal that ended it
    };
};

/// Starts a guardian, acquires the leases, runs the command and releases them. The command is dead before the server
/// may grant its leases to another (T3, T4). REQUIRES: this process has no other threads. A signal that ends the wait
/// for a turn ends the process.
LeasedRun::Ending run_leased(LeasedRun run);

}  // namespace holdfast::cli
