#include "supervise/launch.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/cgroup.h"
#include "supervise/fd.h"

namespace holdfast {
namespace {

void take_terminal() {
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0) tcsetpgrp(terminal, getpgrp());  // SIGTTOU is blocked here, so this is allowed
}

[[noreturn]] void become(const Launch& what, pid_t guardian, int failure) {
    if (what.session)
        setsid();
    else
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian) _exit(127);  // the guardian died before the line above took effect
    if (what.foreground) take_terminal();
    for (const std::string& variable : what.environment)
        putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> arguments;
    for (const std::string& argument : what.command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    Cgroup{what.cgroup}.join();  // on failure, processes are found only by process group and as the guardian's children
    sigprocmask(SIG_SETMASK, &what.mask, nullptr);
    const bool here = what.directory.empty() || chdir(what.directory.c_str()) == 0;
    if (here) execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof error);
    _exit(127);
}

}  // namespace

Launched launch(const Launch& what) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {0, errno};
    Fd reading{ends[0]};
    Fd writing{ends[1]};
    const pid_t guardian = getpid();
    const pid_t leader = fork();
    if (leader < 0) return {0, errno};
    if (leader == 0) become(what, guardian, writing.get());
    // Both processes call it, so that the group exists whichever runs first. Only the leader creates a session, before
    // exec.
    if (!what.session) setpgid(leader, leader);
    writing.close();
    int error = 0;
    ssize_t length = 0;
    do {
        length = ::read(reading.get(), &error, sizeof error);
    } while (length < 0 && errno == EINTR);
    if (length != sizeof error) return {leader, 0};
    waitpid(leader, nullptr, 0);
    return {0, error};
}

}  // namespace holdfast
