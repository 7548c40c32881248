#pragma once

#include "supervise/work_deadlines.h"

namespace holdfast {

/// What the guardian decides, with time as an argument and no system call. It starts with the deadlines of a lease,
/// hears how the keeper fares, and says when to ask the command to stop and when to kill it.
///
/// Stopping is never taken back: a command that was told to stop is dead by the deadline known then, even if a late
/// renewal gets through. Half-stopped work is nothing to go on with.
class GuardianRules {
 public:
    /// What the command gets to clean up, if the hard deadline leaves that much.
    static constexpr Duration grace_when_lost = 1s;           ///< the server may grant it to another already
    static constexpr Duration grace_when_keeper_gone = 5s;    ///< the lease still runs, but nobody renews it
    static constexpr Duration grace_when_command_ended = 5s;  ///< for processes that it left behind
    static constexpr Duration grace_when_asked = 60s;         ///< the same, if a signal had asked the command to end

    enum class Step {
        none,
        terminate,  ///< ask everything to stop; asked for once
        kill        ///< kill everything; asked for until nothing is left
    };

    explicit GuardianRules(WorkDeadlines deadlines);

    /// The lease was renewed. Ignored once stopping.
    void renewed(WorkDeadlines deadlines);
    /// The server said that the lease is not ours any more.
    void lost(HolderInstant now) { stop(now + grace_when_lost); }
    /// The keeper died: nobody will renew.
    void keeper_gone(HolderInstant now) { stop(now + grace_when_keeper_gone); }
    /// A signal that asks the command to end was passed on. It may take its time: the lease is renewed meanwhile.
    void asked() { asked_ = true; }
    /// The command ended, and what it started must not outlive it. If the command was told to stop, the others were
    /// told too and keep the deadline that they were given.
    void command_ended(HolderInstant now);
    /// The keeper wants it stopped, and dead by this instant.
    void stop(HolderInstant kill_at);

    /// What is due now.
    Step step(HolderInstant now);

    /// When step() should be asked next, if nothing happens before.
    HolderInstant wake_at() const;

    /// When everything is killed at the latest, as things stand.
    HolderInstant kill_at() const;

    /// True once the command has been, or is about to be, told to stop because of the lease or by the keeper.
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

}  // namespace holdfast
