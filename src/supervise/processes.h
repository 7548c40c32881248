#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace holdfast::supervise {

/// The name that a guardian gives itself, as shown in /proc: at most 15 bytes.
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

/// The start time of a process, in ticks since boot; empty if there is none with this id. Ids are reused, but id and
/// start time together identify one process until the machine reboots.
std::optional<std::uint64_t> start_time_of(pid_t process);

/// The current state of one process; empty if there is none with this id.
std::optional<Process> read_process(pid_t id);

/// A snapshot of all processes, to find those that a command left running, even outside its group.
class ProcessTable {
 public:
    static ProcessTable read();
    explicit ProcessTable(std::vector<Process> processes) : processes_(std::move(processes)) {}

    /// The children of a process, dead or alive.
    std::vector<Process> children_of(pid_t parent) const;
    /// The living descendants of a process, without itself and without anything below `except`.
    std::vector<pid_t> living_below(pid_t ancestor, const std::vector<pid_t>& except = {}) const;
    /// The same without guardians and their descendants: a guardian itself asks its command to stop.
    std::vector<pid_t> living_outside_guardians(pid_t ancestor) const;
    const std::vector<Process>& all() const { return processes_; }
    /// True if a process of this group lives.
    bool lives(pid_t group) const;

 private:
    std::vector<Process> processes_;
};

}  // namespace holdfast::supervise
