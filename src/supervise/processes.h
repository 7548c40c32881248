#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// The name that /proc shows for a guardian, which gives it to itself: 15 bytes at most.
inline constexpr const char* guardian_name = "hf-guardian";

/// One process as /proc shows it.
struct Process {
    pid_t id = 0;
    pid_t parent = 0;
    pid_t group = 0;
    bool dead = false;        ///< a zombie: ended, and not yet waited for
    bool stopped = false;     ///< suspended by a signal
    std::uint64_t start = 0;  ///< as start_time_of() gives it
    bool guardian = false;    ///< of a command under a lease, by its name
};

/// When a process was started, in ticks since boot; nothing if there is none with this id. The id together with this
/// names one process for as long as the machine runs: ids are used again.
std::optional<std::uint64_t> start_time_of(pid_t process);

/// One process as it is now; nothing if there is none with this id.
std::optional<Process> read_process(pid_t id);

/// A picture of all processes, to find what a command left running wherever it went.
class ProcessTable {
 public:
    static ProcessTable read();
    explicit ProcessTable(std::vector<Process> processes) : processes_(std::move(processes)) {}

    /// The children of a process, dead or alive.
    std::vector<Process> children_of(pid_t parent) const;
    /// What lives below a process, not counting itself or anything below `except`.
    std::vector<pid_t> living_below(pid_t ancestor, const std::vector<pid_t>& except = {}) const;
    /// The same without guardians and what is below them: they ask the commands that they guard to stop themselves.
    std::vector<pid_t> living_outside_guardians(pid_t ancestor) const;
    const std::vector<Process>& all() const { return processes_; }
    /// True if a process of this group lives.
    bool lives(pid_t group) const;

 private:
    std::vector<Process> processes_;
};

}  // namespace holdfast
