#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <sys/types.h>

#include "base/result.h"
#include "base/wakeup.h"
#include "supervise/boot_alarm.h"
#include "supervise/signals.h"

namespace holdfast::supervise {

/// The instant by which everything must be dead, in memory shared by a guardian and the second guardian.
class SharedDeadline {
 public:
    /// REQUIRES: called before the fork.
    static Result<SharedDeadline> make();

    void set(HolderInstant kill_at);
    HolderInstant kill_at() const { return HolderInstant{Duration{kill_at_->load()}}; }
    /// Readable when the deadline was moved to an earlier instant.
    int fd() const { return nearer_.fd(); }
    void drain() const { nearer_.drain(); }

 private:
    SharedDeadline(std::atomic<std::int64_t>* kill_at, Wakeup nearer) : kill_at_(kill_at), nearer_(std::move(nearer)) {}

    std::atomic<std::int64_t>* kill_at_;  ///< in a mapping that lasts as long as the process
    Wakeup nearer_;
};

/// The parent of the guardian. It knows only the deadline, and does only one thing: it kills everything below it once
/// the guardian is dead, or has missed the deadline because it is stopped; then it kills the guardian too. So the
/// failure of any two of the three processes between a lease and its command cannot leave the command running.
class SecondGuardian {
 public:
    SecondGuardian(pid_t guardian, SharedDeadline deadline);

    /// Returns once the guardian has ended and, unless it exited normally, all that it guarded is dead.
    void run();

 private:
    void wait(bool killing);
    /// When to act in the guardian's place.
    HolderInstant due() const;
    /// How the guardian ended, as waitpid() gives it.
    std::optional<int> guardian_ended() const;
    /// True if there was a process to kill besides the guardian itself.
    bool kill_everything() const;

    const pid_t guardian_;
    const SharedDeadline deadline_;
    SignalInbox signals_;
    BootAlarm alarm_;
};

}  // namespace holdfast::supervise
