#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// A control group (cgroup v2) of one command: whatever its processes do, they stay in it, so that all of them can be
/// found and killed in one go. Every call is harmless if there is no such group.
class Cgroup {
 public:
    /// An empty name stands for none.
    explicit Cgroup(std::string directory) : directory_(std::move(directory)) {}

    const std::string& directory() const { return directory_; }

    /// True if it was made, or is there already.
    bool create() const;
    /// Puts the calling process into it. Safe between fork and exec.
    bool join() const;
    /// Kills everything in it.
    void kill() const;
    /// True if nothing in it lives.
    bool is_empty() const;
    /// Takes it and the groups below it away; does nothing while something lives in them.
    void remove() const;

 private:
    bool write(const char* file, std::string_view text) const;

    std::string directory_;
};

/// Where this process may make groups that can be killed; nothing without a writable cgroup v2 (Linux 5.14).
std::optional<std::string> writable_cgroup();

}  // namespace holdfast
