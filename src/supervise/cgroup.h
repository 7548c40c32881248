#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::supervise {

/// The control group (cgroup v2) of one command. Its processes cannot leave it by forking or changing their group or
/// session, so all of them can be found and killed at once. Every call is harmless if the group does not exist.
class Cgroup {
 public:
    /// An empty name means no group.
    explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}

    const std::string& directory() const { return directory_; }

    /// True if it was created or exists already.
    bool create() const;
    /// Moves the calling process into it. Safe between fork and exec.
    bool join() const;
    /// Kills everything in it.
    void kill() const;
    /// True if it has no living process.
    bool is_empty() const;
    /// Removes it and the groups below it. Does nothing while a process lives in them.
    void remove() const;

 private:
    bool write(const char* file, std::string_view text) const;

    std::string directory_;
};

/// The directory in which this process may create groups that can be killed; empty without a writable cgroup v2 (Linux
/// 5.14).
std::optional<std::string> writable_cgroup();

}  // namespace holdfast::supervise
