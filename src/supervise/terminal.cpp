#include "supervise/terminal.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace holdfast::supervise {

Terminal::Terminal() : tty_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (tty_) has_modes_ = tcgetattr(tty_.get(), &modes_) == 0;
}

bool Terminal::is_ours() const {
    return tty_ && tcgetpgrp(tty_.get()) == getpgrp();
}

bool Terminal::is_interactive() const {
    return is_ours() && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

void Terminal::give_to(pid_t group) {
    if (tty_ && tcsetpgrp(tty_.get(), group) == 0) given_to_ = group;
}

void Terminal::take_back() {
    if (!is_given()) return;
    const pid_t foreground = tcgetpgrp(tty_.get());
    const bool still_theirs = foreground == given_to_ || (foreground > 0 && ::kill(-foreground, 0) != 0);
    if (still_theirs) tcsetpgrp(tty_.get(), getpgrp());
    given_to_ = 0;
}

void Terminal::restore() {
    if (has_modes_ && is_ours()) tcsetattr(tty_.get(), TCSADRAIN, &modes_);
}

}  // namespace holdfast::supervise
