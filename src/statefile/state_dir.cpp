#include "statefile/state_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace holdfast::statefile {
namespace {

namespace fs = std::filesystem;

Error unusable(const std::string& what, int error) {
    return {Code::state_unusable,
            fmt::format("{}: {}; choose a directory you can write with --state-dir", what, std::strerror(error))};
}

/// Creates the directory and its missing parents, and makes each durable in its parent.
Result<void> create(const fs::path& path) {
    std::error_code failed;
    if (path.empty() || fs::is_directory(path, failed)) return {};
    if (const auto parent = path.parent_path(); parent != path)
        if (auto made = create(parent); !made) return made;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return unusable("cannot create " + path.string(), errno);
    const auto parent = path.parent_path();
    return sync_directory(parent.empty() ? "." : parent.string());
}

std::string holder_of(int lock) {
    char text[32]{};
    const ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
    const std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    return pid.empty() ? "another process" : "process " + pid.substr(0, pid.find('\n'));
}

Result<void> write_pid(int lock) {
    const std::string pid = std::to_string(::getpid()) + '\n';
    if (::ftruncate(lock, 0) != 0 || ::pwrite(lock, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
        return unusable("cannot write the lock file", errno);
    return {};
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Result<StateDir> StateDir::open(const std::string& path) {
    std::error_code failed;
    const std::string whole = fs::absolute(path, failed).lexically_normal().string();
    if (failed || path.empty())
        return Error{Code::state_unusable, fmt::format("'{}' is not the name of a directory", path)};
    if (auto made = create(whole); !made) return made.error();
    const std::string name = whole + "/lock";
    const int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) return unusable("cannot open " + name, errno);
    StateDir directory(whole, lock);
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return unusable("cannot lock " + name, errno);
        return Error{Code::state_in_use, "the state directory " + whole + " is in use by " + holder_of(lock) +
                                             "; stop that server, or give this one another directory with --state-dir"};
    }
    if (auto written = write_pid(lock); !written) return written.error();
    return directory;
}

StateDir::StateDir(StateDir&& other) noexcept : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StateDir& StateDir::operator=(StateDir&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
}

StateDir::~StateDir() {
    if (lock_ >= 0) ::close(lock_);
}

Result<std::string> default_state_dir() {
    if (const char* chosen = variable("HOLDFAST_STATE_DIR")) return std::string(chosen);
    if (const char* given = variable("STATE_DIRECTORY")) {  // a list with colons; the first is ours
        const std::string list = given;
        return list.substr(0, list.find(':'));
    }
    if (const char* state_home = variable("XDG_STATE_HOME")) return std::string(state_home) + "/holdfast";
    const char* home = variable("HOME");
    if (home == nullptr)
        if (const passwd* user = ::getpwuid(::getuid())) home = user->pw_dir;
    if (home == nullptr)
        return Error{Code::state_unusable,
                     "there is no home directory to keep the state in; name one with --state-dir"};
    return std::string(home) + "/.local/state/holdfast";
}

Result<void> sync_directory(const std::string& path) {
    const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return unusable("cannot open " + path, errno);
    const int outcome = ::fsync(directory);
    const int error = errno;
    ::close(directory);
    // Some file systems cannot sync a directory; then there is nothing to wait for.
    if (outcome != 0 && error != EINVAL && error != EROFS) return unusable("cannot sync " + path, error);
    return {};
}

}  // namespace holdfast::statefile
