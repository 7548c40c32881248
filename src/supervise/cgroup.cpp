#include "supervise/cgroup.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/fd.h"

namespace holdfast::supervise {
namespace {

namespace fs = std::filesystem;

/// Where cgroup v2 is mounted: `ID PARENT DEVICE ROOT MOUNT-POINT OPTIONS … - TYPE SOURCE OPTIONS`.
std::string mount_point() {
    std::ifstream mounts{"/proc/self/mountinfo"};
    std::string line;
    while (std::getline(mounts, line)) {
        if (line.find(" - cgroup2 ") == std::string::npos) continue;
        std::istringstream words{line};
        std::string skipped, point;
        words >> skipped >> skipped >> skipped >> skipped >> point;
        return point;
    }
    return {};
}

/// The group this process is in: `0::/system.slice/holdfast.service`.
std::string own_path() {
    std::ifstream groups{"/proc/self/cgroup"};
    std::string line;
    while (std::getline(groups, line))
        if (line.rfind("0::", 0) == 0) return line.substr(3);
    return {};
}

}  // namespace

bool Cgroup::create() const {
    return !directory_.empty() && (::mkdir(directory_.c_str(), 0755) == 0 || errno == EEXIST);
}

bool Cgroup::join() const {
    return write("/cgroup.procs", "0");
}

void Cgroup::kill() const {
    write("/cgroup.kill", "1");
}

bool Cgroup::is_empty() const {
    if (directory_.empty()) return true;
    std::ifstream events{directory_ + "/cgroup.events"};
    std::string word;
    int value = 0;
    while (events >> word >> value)
        if (word == "populated") return value == 0;
    return true;
}

void Cgroup::remove() const {
    if (directory_.empty()) return;
    std::vector<fs::path> below;
    std::error_code failed;
    for (fs::recursive_directory_iterator at{directory_, failed}, end; !failed && at != end; at.increment(failed))
        if (at->is_directory(failed)) below.push_back(at->path());
    for (auto deepest = below.rbegin(); deepest != below.rend(); ++deepest)
        ::rmdir(deepest->c_str());
    ::rmdir(directory_.c_str());
}

bool Cgroup::write(const char* file, std::string_view text) const {
    if (directory_.empty()) return false;
    const Fd target{::open((directory_ + file).c_str(), O_WRONLY | O_CLOEXEC)};
    return target && ::write(target.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::string> writable_cgroup() {
    const std::string point = mount_point();
    const std::string path = own_path();
    if (point.empty() || path.empty()) return std::nullopt;
    const std::string own = point + (path == "/" ? "" : path);
    const Cgroup trial{own + "/holdfast-trial-" + std::to_string(getpid())};
    if (!trial.create()) return std::nullopt;
    const bool killable = ::access((trial.directory() + "/cgroup.kill").c_str(), W_OK) == 0;
    // The right to create a group is not enough to move a process into it: that takes rights on the common ancestor
    // too.
    const bool enterable = ::access((own + "/cgroup.procs").c_str(), W_OK) == 0;
    trial.remove();
    if (!killable || !enterable) return std::nullopt;
    return own;
}

}  // namespace holdfast::supervise
