#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "supervise/processes.h"

namespace holdfast {

/// Whom a signal goes to. A process group is signalled as one: only then can a process that is being forked neither be
/// missed nor be signalled twice.
struct SignalTargets {
    /// The members are there to be sure that the group is still the one that was seen.
    struct Group {
        pid_t id = 0;
        std::vector<Process> members;
    };
    std::vector<Group> groups;
    std::vector<Process> processes;  ///< those that share their group with processes that are not below the guardian
};

/// Everything that lives below a process, but for what another guardian guards: `holdfast run` below another one passes
/// the request on, and its command would get it twice.
SignalTargets everything_below(const ProcessTable& table, pid_t ancestor);

/// Remembers which processes were asked to stop, so that each is asked once: many programs take a second request for an
/// order to drop everything. A process that was forked by one that had been asked, in the same group, is part of how
/// that one ends and is not asked.
///
/// A process that leaves its group in the very moment of the request may miss it. It is killed at the deadline.
class AskedProcesses {
 public:
    /// Notes that everything below was asked.
    void note(const ProcessTable& table, pid_t ancestor);
    /// Notes that a group was asked.
    void note_group(const ProcessTable& table, pid_t group);
    /// Everything that lives below and was not asked yet.
    SignalTargets unasked_below(const ProcessTable& table, pid_t ancestor) const;

 private:
    bool knows(const Process& process) const { return asked_.contains({process.id, process.start}); }

    /// The id and the start: ids are used again.
    std::set<std::pair<pid_t, std::uint64_t>> asked_;
};

/// Sends the signal to all of them, but to none that has taken the place of one that was seen.
void send_signal(const SignalTargets& targets, int signal);
/// Wakes those that are suspended: they could not act on a signal.
void wake_suspended(const ProcessTable& table, pid_t ancestor);

}  // namespace holdfast
