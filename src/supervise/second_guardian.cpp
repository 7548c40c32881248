#include "supervise/second_guardian.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>

#include "base/clock.h"
#include "supervise/processes.h"

namespace holdfast::supervise {
namespace {

/// The guardian acts first: it knows more, and reports.
constexpr Duration head_start = 20ms;
constexpr Duration kill_again = 10ms;
/// The longest that a guardian needs to report once everything is dead, unless it is stopped.
constexpr Duration report_patience = 1s;

}  // namespace

Result<SharedDeadline> SharedDeadline::make() {
    void* memory =
        ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Error{Code::cannot_run, std::string("no guardian: ") + std::strerror(errno)};
    auto* kill_at = new (memory) std::atomic<std::int64_t>{HolderInstant::max().time_since_epoch().count()};
    try {
        return SharedDeadline{kill_at, Wakeup{}};
    } catch (const std::system_error& failed) {
        return Error{Code::cannot_run, std::string("no guardian: ") + failed.what()};
    }
}

void SharedDeadline::set(HolderInstant kill_at) {
    const std::int64_t before = kill_at_->exchange(kill_at.time_since_epoch().count());
    if (kill_at.time_since_epoch().count() < before) nearer_.notify();
}

SecondGuardian::SecondGuardian(pid_t guardian, SharedDeadline deadline)
    : guardian_(guardian), deadline_(std::move(deadline)), signals_(every_signal()) {
    // The keeper's input and output belong to the command. No reader should have to wait for this process to close
    // them.
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(nothing, standard);
}

void SecondGuardian::run() {
    bool killing = false;
    for (;;) {
        wait(killing);
        if (const auto status = guardian_ended()) {
            if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return;
            killing = kill_everything();
            if (!killing && !kill_everything()) return;  // twice, since a process may be forked during the first
        } else if (holder_clock_now() >= due()) {
            killing = kill_everything();
            // A guardian that does not report is stopped. Its death notifies the keeper.
            if (holder_clock_now() >= due() + report_patience) ::kill(guardian_, SIGKILL);
        }
    }
}

void SecondGuardian::wait(bool killing) {
    const HolderInstant now = holder_clock_now();
    alarm_.set(killing || guardian_ended() ? now + kill_again : std::max(due(), now + kill_again));
    pollfd waiting[]{{signals_.fd(), POLLIN, 0}, {alarm_.fd(), POLLIN, 0}, {deadline_.fd(), POLLIN, 0}};
    ::poll(waiting, 3, -1);
    while (signals_.take()) {
    }
    deadline_.drain();
    // Orphans of the guarded command become children of this process once the guardian is dead. The guardian itself is
    // not reaped: its id is still needed.
    for (const Process& child : ProcessTable::read().children_of(getpid()))
        if (child.dead && child.id != guardian_) ::waitpid(child.id, nullptr, WNOHANG);
}

HolderInstant SecondGuardian::due() const {
    const HolderInstant kill_at = deadline_.kill_at();
    return kill_at == HolderInstant::max() ? kill_at : kill_at + head_start;
}

std::optional<int> SecondGuardian::guardian_ended() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(guardian_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return std::nullopt;
    return info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
}

bool SecondGuardian::kill_everything() const {
    bool found = false;
    for (const pid_t process : ProcessTable::read().living_below(getpid())) {
        if (process == guardian_) continue;
        ::kill(process, SIGKILL);
        found = true;
    }
    return found;
}

}  // namespace holdfast::supervise
