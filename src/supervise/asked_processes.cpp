#include "supervise/asked_processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

namespace holdfast::supervise {
namespace {

bool is_as_seen(const Process& seen) {
    const auto now = read_process(seen.id);
    return now && now->start == seen.start && now->group == seen.group;
}

/// Uses a pidfd rather than the id: the id could be reused between the check and the signal.
void signal_process(const Process& process, int signal) {
    const Fd handle{static_cast<int>(::syscall(SYS_pidfd_open, process.id, 0))};
    const bool unsupported = !handle && errno == ENOSYS;
    if (start_time_of(process.id) != process.start) return;
    if (handle)
        ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
    else if (unsupported)
        ::kill(process.id, signal);
}

}  // namespace

SignalTargets everything_below(const ProcessTable& table, pid_t ancestor) {
    const std::vector<pid_t> ids = table.living_outside_guardians(ancestor);
    const std::set<pid_t> below{ids.begin(), ids.end()};
    std::map<pid_t, std::vector<Process>> members;
    std::set<pid_t> shared;
    for (const Process& process : table.all()) {
        if (process.dead) continue;
        if (below.contains(process.id))
            members[process.group].push_back(process);
        else
            shared.insert(process.group);
    }
    SignalTargets targets;
    for (const auto& [group, processes] : members) {
        if (shared.contains(group))
            targets.processes.insert(targets.processes.end(), processes.begin(), processes.end());
        else
            targets.groups.push_back({group, processes});
    }
    return targets;
}

void AskedProcesses::note(const ProcessTable& table, pid_t ancestor) {
    const std::vector<pid_t> ids = table.living_outside_guardians(ancestor);
    const std::set<pid_t> below{ids.begin(), ids.end()};
    for (const Process& process : table.all())
        if (below.contains(process.id)) asked_.emplace(process.id, process.start);
}

void AskedProcesses::note_group(const ProcessTable& table, pid_t group) {
    for (const Process& process : table.all())
        if (process.group == group && !process.dead) asked_.emplace(process.id, process.start);
}

SignalTargets AskedProcesses::unasked_below(const ProcessTable& table, pid_t ancestor) const {
    std::set<pid_t> asked_groups;
    for (const Process& process : table.all())
        if (knows(process)) asked_groups.insert(process.group);
    SignalTargets targets = everything_below(table, ancestor);
    std::erase_if(targets.groups, [&](const auto& group) { return asked_groups.contains(group.id); });
    std::erase_if(targets.processes, [&](const Process& process) { return knows(process); });
    return targets;
}

void send_signal(const SignalTargets& targets, int signal) {
    for (const auto& group : targets.groups)
        if (std::any_of(group.members.begin(), group.members.end(), is_as_seen)) ::kill(-group.id, signal);
    for (const Process& process : targets.processes)
        signal_process(process, signal);
}

void wake_suspended(const ProcessTable& table, pid_t ancestor) {
    const std::vector<pid_t> ids = table.living_below(ancestor);
    for (const Process& process : table.all())
        if (process.stopped && std::find(ids.begin(), ids.end(), process.id) != ids.end())
            signal_process(process, SIGCONT);
}

}  // namespace holdfast::supervise
