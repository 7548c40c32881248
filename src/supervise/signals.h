#pragma once

#include <csignal>
#include <optional>
#include <vector>

#include "base/fd.h"

namespace holdfast::supervise {

/// All signals that a process can receive as messages, without those that report a fault of the process itself.
std::vector<int> every_signal();

/// Receives signals as messages on an fd instead of interruptions. Blocks them for this thread and every thread it
/// starts from then on, so create it before any other thread. Signals that this process inherited as ignored (nohup)
/// stay ignored.
class SignalInbox {
 public:
    explicit SignalInbox(const std::vector<int>& wanted);
    ~SignalInbox();
    SignalInbox(const SignalInbox&) = delete;
    SignalInbox& operator=(const SignalInbox&) = delete;

    /// Readable when a signal is pending.
    int fd() const { return fd_.get(); }
    /// The next signal; empty if none is pending.
    std::optional<int> take();
    /// The signal mask from before. A command must be started with it.
    const sigset_t& mask_before() const { return before_; }

 private:
    sigset_t before_{};
    Fd fd_;
};

}  // namespace holdfast::supervise
