#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "supervise/processes.h"

namespace holdfast::supervise {

/// The targets of a signal. A process group is signalled as a whole: only then is a process that is being forked
/// neither missed nor signalled twice.
struct SignalTargets {
    /// The members serve to verify that the group is still the one that was read.
    struct Group {
        pid_t id = 0;
        std::vector<Process> members;
    };
    std::vector<Group> groups;
    std::vector<Process> processes;  ///< those whose group also has processes that are not below the guardian
};

/// All living descendants of a process, except those that another guardian guards: a nested `holdfast run` passes the
/// request on, so its command would get it twice.
SignalTargets everything_below(const ProcessTable& table, pid_t ancestor);

/// Remembers which processes were asked to stop, so that each is asked once: many programs treat a second request as an
/// order to quit without cleanup. A process forked in the same group by one that had been asked is part of that one's
/// shutdown and is not asked.
///
/// A process that leaves its group at the moment of the request may miss it. It is killed at the deadline.
class AskedProcesses {
 public:
    /// Records that all descendants were asked.
    void note(const ProcessTable& table, pid_t ancestor);
    /// Records that a group was asked.
    void note_group(const ProcessTable& table, pid_t group);
    /// All living descendants that were not asked yet.
    SignalTargets unasked_below(const ProcessTable& table, pid_t ancestor) const;

 private:
    bool knows(const Process& process) const { return asked_.contains({process.id, process.start}); }

    /// By id and start time, since ids are reused.
    std::set<std::pair<pid_t, std::uint64_t>> asked_;
};

/// Sends the signal to all targets, but not to a process that has reused the id of one that was read.
void send_signal(const SignalTargets& targets, int signal);
/// Resumes suspended descendants: they could not act on a signal.
void wake_suspended(const ProcessTable& table, pid_t ancestor);

}  // namespace holdfast::supervise
