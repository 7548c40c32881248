#pragma once

#include <csignal>
#include <optional>
#include <vector>

#include "supervise/fd.h"

namespace holdfast {

/// All that a process can take as messages; not those that tell of a fault in itself.
std::vector<int> every_signal();

/// Takes signals as messages on a descriptor instead of interruptions. Blocks them for this thread and every thread it
/// starts from then on, so make it before any other. Signals that this process was told to ignore (nohup) stay ignored.
class SignalInbox {
 public:
    explicit SignalInbox(const std::vector<int>& wanted);
    ~SignalInbox();
    SignalInbox(const SignalInbox&) = delete;
    SignalInbox& operator=(const SignalInbox&) = delete;

    /// Readable when a signal came.
    int fd() const { return fd_.get(); }
    /// The next signal, or nothing.
    std::optional<int> take();
    /// What was blocked before: what a command must be started with.
    const sigset_t& mask_before() const { return before_; }

 private:
    sigset_t before_{};
    Fd fd_;
};

}  // namespace holdfast
