#pragma once

#include <sys/types.h>
#include <termios.h>

#include "base/fd.h"

namespace holdfast::supervise {

/// The terminal that this process was started from, if any, and which process group of the session may read from it.
/// REQUIRES: SIGTTOU is blocked while one of these is used, so that a background process may change it.
class Terminal {
 public:
    /// Opens the controlling terminal and saves its modes.
    Terminal();

    explicit operator bool() const { return static_cast<bool>(tty_); }
    /// True if our process group is in the foreground.
    bool is_ours() const;
    /// True if both input and output are terminals: the command should get the terminal at start rather than on demand.
    bool is_interactive() const;
    /// True if it was given away and not taken back.
    bool is_given() const { return given_to_ != 0; }

    void give_to(pid_t group);
    /// Records that the group took the terminal itself.
    void given(pid_t group) { given_to_ = group; }
    /// Puts our group into the foreground again, if the terminal was given away and no other group took it since.
    void take_back();
    /// Restores the saved modes: a killed editor leaves the terminal raw.
    void restore();

 private:
    Fd tty_;
    termios modes_{};
    bool has_modes_ = false;
    pid_t given_to_ = 0;
};

}  // namespace holdfast::supervise
