#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace holdfast {

/// True also if it is gone.
inline bool has_stopped(pid_t pid) {
    std::error_code gone;
    std::filesystem::directory_iterator thread("/proc/" + std::to_string(pid) + "/task", gone), end;
    for (; !gone && thread != end; thread.increment(gone)) {
        std::ifstream file(thread->path() / "stat");
        const std::string stat{std::istreambuf_iterator<char>(file), {}};
        const auto name_ends = stat.rfind(')');
        const bool runs = name_ends != std::string::npos &&
                          std::string_view("TtZX").find(stat[name_ends + 2]) == std::string_view::npos;
        if (runs) return false;
    }
    return true;
}

/// Stops a process that the test started, as a machine does that hangs. Returns when none of its threads runs: the
/// signal alone only asks for that, and on a busy machine a thread may still answer a request afterwards.
inline void freeze(pid_t pid) {
    ::kill(pid, SIGSTOP);
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!has_stopped(pid)) {
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("a process did not stop");
        ::poll(nullptr, 0, 5);
    }
}

inline void thaw(pid_t pid) {
    ::kill(pid, SIGCONT);
}

}  // namespace holdfast
