#pragma once

#include "base/time.h"

namespace holdfast::supervise {

/// When the work under a lease must stop, on the holder's own clock (T4): asked to at `soft`, dead by `hard`. Keeper
/// and guardian run on one machine and read the same CLOCK_BOOTTIME, so here, and only here, processes may exchange
/// instants.
struct WorkDeadlines {
    HolderInstant soft;
    HolderInstant hard;
};

/// The guardian's decisions, with time as an argument and no system calls. It starts with the deadlines of a lease,
/// receives the keeper's events, and says when to ask the command to stop and when to kill it.
///
/// Stopping is never undone: a command that was asked to stop is dead by the deadline known then, even if a late
/// renewal arrives. Half-stopped work cannot be continued.
class GuardianRules {
 public:
    /// The time for the command to clean up, if the hard deadline allows it.
    static constexpr Duration grace_when_lost = 1s;           ///< the server may already grant it to another
    static constexpr Duration grace_when_keeper_gone = 5s;    ///< the lease still runs, but is not renewed
    static constexpr Duration grace_when_command_ended = 5s;  ///< for processes that it left behind
    static constexpr Duration grace_when_asked = 60s;         ///< the same, if a signal had asked the command to end

    enum class Step {
        none,
        terminate,  ///< ask everything to stop; returned once
        kill        ///< kill everything; returned until nothing is left
    };

    explicit GuardianRules(WorkDeadlines deadlines);

    /// The lease was renewed. Ignored once stopping.
    void renewed(WorkDeadlines deadlines);
    /// The server said that the lease is not ours any more.
    void lost(HolderInstant now) { stop(now + grace_when_lost); }
    /// The keeper died, so the lease will not be renewed.
    void keeper_gone(HolderInstant now) { stop(now + grace_when_keeper_gone); }
    /// A signal that asks the command to end was forwarded. The command may take its time, since the lease is still
    /// renewed.
    void asked() { asked_ = true; }
    /// The command ended, and its processes must not outlive it. If the command was asked to stop, they were asked too
    /// and keep the deadline they were given.
    void command_ended(HolderInstant now);
    /// The keeper orders it to be stopped, and dead by this instant.
    void stop(HolderInstant kill_at);

    /// The step that is due now.
    Step step(HolderInstant now);

    /// When to call step() next, if nothing happens before.
    HolderInstant wake_at() const;

    /// The latest instant at which everything is killed, as currently known.
    HolderInstant kill_at() const;

    /// True once the command has been, or is about to be, asked to stop because of the lease or by the keeper.
    bool stopping() const { return stopping_; }

 private:
    HolderInstant soft_;
    HolderInstant kill_at_;
    HolderInstant rest_kill_at_ = HolderInstant::max();  ///< for processes that outlive the command
    bool asked_ = false;
    bool stopping_ = false;
    bool rest_stopping_ = false;
    bool terminated_ = false;
};

}  // namespace holdfast::supervise
