#include "drone/leftovers.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <poll.h>
#include <set>
#include <unistd.h>

#include "supervise/cgroup.h"
#include "supervise/processes.h"

namespace holdfast::drone {
namespace {

constexpr int look_again_ms = 10;
/// After so many looks that still found something, say so: it may be stuck in the kernel.
constexpr int looks_before_a_word = 500;

bool is_marked(pid_t process, const std::string& mark) {
    std::ifstream file{"/proc/" + std::to_string(process) + "/environ"};
    std::string variable;
    while (std::getline(file, variable, '\0'))
        if (variable == mark) return true;
    return false;
}

/// What lives of a backend: its guardian, everything below that, and whatever bears the backend's mark.
std::set<pid_t> living(const BackendRecord& record) {
    std::set<pid_t> found;
    const ProcessTable table = ProcessTable::read();
    const std::string mark = std::string(backend_variable) + record.backend;
    const bool guarded = start_time_of(record.guardian) == record.guardian_start;
    if (guarded)
        for (const pid_t process : table.living_below(record.guardian))
            found.insert(process);
    for (const Process& process : table.all()) {
        if (process.dead || process.id == getpid()) continue;
        if ((guarded && process.id == record.guardian) || is_marked(process.id, mark)) found.insert(process.id);
    }
    return found;
}

bool kill_one(const BackendRecord& record, const std::function<void(const std::string&)>& say) {
    const Cgroup cgroup{record.cgroup};
    bool was_alive = false;
    for (int look = 1;; ++look) {
        const std::set<pid_t> left = living(record);
        if (left.empty() && cgroup.is_empty()) break;
        was_alive = true;
        if (look == 1) say("backend " + record.backend + " of an earlier life still runs; killing it");
        if (look % looks_before_a_word == 0) say("backend " + record.backend + " of an earlier life does not die");
        cgroup.kill();
        for (const pid_t process : left)
            ::kill(process, SIGKILL);
        ::poll(nullptr, 0, look_again_ms);
    }
    cgroup.remove();
    return was_alive;
}

}  // namespace

std::size_t kill_leftovers(const BackendRecords& records, const std::function<void(const std::string&)>& say) {
    std::size_t found = 0;
    for (const BackendRecord& record : records.read_all()) {
        // After a reboot nothing of it can run, and its cgroup's name may be another's.
        if (record.boot == boot_id() && kill_one(record, say)) ++found;
        records.remove(record.backend);
    }
    return found;
}

}  // namespace holdfast::drone
