#include "supervise/processes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace holdfast::supervise {
namespace {

/// The parts of /proc/PID/stat: `PID (name) state parent group …`.
struct Stat {
    std::string name;
    std::string fields;  ///< the rest after the name
};

/// The name may contain blanks and parentheses. It ends at the last closing one.
std::optional<Stat> read_stat(pid_t id) {
    const Fd file{::open(("/proc/" + std::to_string(id) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file) return std::nullopt;
    std::array<char, 512> buffer{};
    const ssize_t length = ::read(file.get(), buffer.data(), buffer.size() - 1);
    if (length <= 0) return std::nullopt;
    const std::string_view text{buffer.data(), static_cast<std::size_t>(length)};
    const std::size_t opening = text.find('(');
    const std::size_t closing = text.rfind(')');
    if (opening == std::string_view::npos || closing == std::string_view::npos) return std::nullopt;
    return Stat{std::string(text.substr(opening + 1, closing - opening - 1)), std::string(text.substr(closing + 1))};
}

bool contains(const std::vector<pid_t>& list, pid_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace

std::optional<Process> read_process(pid_t id) {
    const auto stat = read_stat(id);
    if (!stat) return std::nullopt;
    char state = 0;
    unsigned long long start = 0;
    Process process{.id = id};
    // The name is the second field of the line, the start the 22nd.
    const char* fields = " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
    if (std::sscanf(stat->fields.c_str(), fields, &state, &process.parent, &process.group, &start) != 4)
        return std::nullopt;
    process.dead = state == 'Z' || state == 'X';
    process.stopped = state == 'T';
    process.start = start;
    process.guardian = stat->name == guardian_name;
    return process;
}

std::optional<std::uint64_t> start_time_of(pid_t process) {
    const auto found = read_process(process);
    if (!found) return std::nullopt;
    return found->start;
}

ProcessTable ProcessTable::read() {
    std::vector<Process> processes;
    DIR* directory = ::opendir("/proc");
    if (directory == nullptr) return ProcessTable{{}};
    while (const dirent* entry = ::readdir(directory)) {
        const auto id = parse_number(entry->d_name);
        if (!id) continue;
        if (const auto process = read_process(static_cast<pid_t>(*id))) processes.push_back(*process);
    }
    ::closedir(directory);
    return ProcessTable{std::move(processes)};
}

std::vector<Process> ProcessTable::children_of(pid_t parent) const {
    std::vector<Process> children;
    for (const Process& process : processes_)
        if (process.parent == parent) children.push_back(process);
    return children;
}

std::vector<pid_t> ProcessTable::living_below(pid_t ancestor, const std::vector<pid_t>& except) const {
    std::vector<pid_t> living;
    std::vector<pid_t> seen{ancestor};
    for (std::size_t i = 0; i < seen.size(); ++i) {
        for (const Process& child : children_of(seen[i])) {
            if (contains(except, child.id) || contains(seen, child.id)) continue;
            seen.push_back(child.id);
            if (!child.dead) living.push_back(child.id);
        }
    }
    return living;
}

std::vector<pid_t> ProcessTable::living_outside_guardians(pid_t ancestor) const {
    std::vector<pid_t> guardians;
    for (const Process& process : processes_)
        if (process.guardian) guardians.push_back(process.id);
    return living_below(ancestor, guardians);
}

bool ProcessTable::lives(pid_t group) const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [&](const Process& process) { return process.group == group && !process.dead; });
}

}  // namespace holdfast::supervise
