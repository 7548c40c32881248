#pragma once

#include <sys/types.h>
#include <termios.h>

#include "supervise/fd.h"

namespace holdfast {

/// The terminal this process was started from, if any, and who in the session may read from it. REQUIRES: SIGTTOU is
/// blocked while one of these is used, so that a background process may change it.
class Terminal {
 public:
    /// Finds the controlling terminal and remembers how it is set.
    Terminal();

    explicit operator bool() const { return static_cast<bool>(tty_); }
    /// True if our process group is the one in the foreground.
    bool is_ours() const;
    /// True if a person sits at both ends: the command should get the terminal at once rather than when it asks.
    bool is_interactive() const;
    /// True if it was given away and not taken back.
    bool is_given() const { return given_to_ != 0; }

    void give_to(pid_t group);
    /// Notes that the group took the terminal itself.
    void given(pid_t group) { given_to_ = group; }
    /// Makes our group the foreground again, if it was given away and nobody else took it since.
    void take_back();
    /// Sets it as it was found: a killed editor leaves it raw.
    void restore();

 private:
    Fd tty_;
    termios modes_{};
    bool has_modes_ = false;
    pid_t given_to_ = 0;
};

}  // namespace holdfast
