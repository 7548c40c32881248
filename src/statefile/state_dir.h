#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::statefile {

/// A server's directory for state that survives it, and the exclusive right to use it.
///
/// Opening creates it (mode 0700) and locks it. The lock ends with the object, or with the process however it ends.
class StateDir {
 public:
    /// Error `state_in_use`, naming the directory and the process that holds the lock, or `state_unusable`.
    static Result<StateDir> open(const std::string& path);

    StateDir(StateDir&& other) noexcept;
    StateDir& operator=(StateDir&& other) noexcept;
    StateDir(const StateDir&) = delete;
    StateDir& operator=(const StateDir&) = delete;
    ~StateDir();

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
    StateDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

    std::string path_;
    int lock_ = -1;
};

/// The default state directory: $HOLDFAST_STATE_DIR, $STATE_DIRECTORY (set by systemd), $XDG_STATE_HOME/holdfast,
/// ~/.local/state/holdfast. Error `state_unusable` if there is no home directory.
Result<std::string> default_state_dir();

/// Makes the names in a directory durable: a file that was created or renamed stays so after a power cut.
Result<void> sync_directory(const std::string& path);

}  // namespace holdfast::statefile
