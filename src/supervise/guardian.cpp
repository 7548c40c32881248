#include "supervise/guardian.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "supervise/asked_processes.h"
#include "supervise/boot_alarm.h"
#include "supervise/cgroup.h"
#include "supervise/guardian_rules.h"
#include "supervise/messages.h"
#include "supervise/processes.h"
#include "supervise/second_guardian.h"
#include "supervise/signals.h"

namespace holdfast::supervise {
namespace {

/// The polling interval where no event is delivered: for a dead leader's group, and for processes just killed.
constexpr Duration look_again = 10ms;

/// A command to start under guard.
struct Launch {
    std::vector<std::string> command;      ///< program and arguments; the program is looked up in PATH
    std::vector<std::string> environment;  ///< `NAME=value`, on top of this process's own
    sigset_t mask{};                       ///< signals blocked when the command starts
    bool foreground = false;               ///< give its group the terminal before it runs
    bool session = false;                  ///< in a session of its own, not only a group
    std::string directory{};               ///< its working directory; empty: this process's
    std::string cgroup{};                  ///< the control group it joins (cgroup.h); empty: none
};

struct Launched {
    pid_t leader = 0;  ///< also its process group; zero if it could not be run
    int error = 0;     ///< errno of exec, or of entering the directory, if it could not be run
};

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

/// Starts the command in a process group of its own. It dies with the calling process, which must have one thread.
/// Returns once the command runs or is known not to.
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

class Guardian {
 public:
    Guardian(Fd keeper, std::vector<std::string> command, SharedDeadline shared)
        : keeper_(std::move(keeper)),
          command_(std::move(command)),
          shared_(std::move(shared)),
          signals_(every_signal()) {}

    int run() {
        const auto start = await_start();
        if (!start || !launch_command(*start)) return 0;
        while (!settled()) {
            wait();
            hear_keeper();
            watch_leader();
            act();
            shared_.set(rules_->kill_at());
        }
        cgroup_.remove();
        // A command with a session of its own ends with its first process, so only that decides `forced`.
        report(EndedReport{status_, forced_ || (!session_ && rules_->stopping()), left_behind_});
        return 0;
    }

 private:
    void report(const Report& report) {
        if (keeper_) (void)send_message(keeper_.get(), encode(report), true);
    }

    /// Empty if the keeper ended without ordering a start.
    std::optional<StartOrder> await_start() {
        for (;;) {
            pollfd waiting{keeper_.get(), POLLIN, 0};
            ::poll(&waiting, 1, -1);
            const auto bytes = receive_message(keeper_.get());
            if (!bytes) continue;
            const auto order = decode_order(*bytes);
            if (!order || !std::holds_alternative<StartOrder>(*order)) return std::nullopt;
            return std::get<StartOrder>(*order);
        }
    }

    bool launch_command(const StartOrder& start) {
        if (holder_clock_now() >= start.deadlines.soft) {  // the keeper was suspended before it sent this
            report(EndedReport{.status = SIGTERM, .forced = true, .left_behind = 0});
            return false;
        }
        if (Cgroup cgroup{start.cgroup}; cgroup.create()) cgroup_ = cgroup;
        whole_ = start.whole;
        session_ = start.session;
        shared_.set(start.deadlines.hard);
        const Launched launched = launch({command_, start.environment, signals_.mask_before(), start.foreground,
                                          session_, start.directory, cgroup_.directory()});
        if (launched.leader == 0) {
            cgroup_.remove();
            report(CannotRunReport{launched.error});
            return false;
        }
        leader_ = launched.leader;
        rules_.emplace(start.deadlines);
        report(StartedReport{leader_, getpid()});
        return true;
    }

    void wait() {
        HolderInstant wake = rules_->wake_at();
        if (leader_ended_ || killing_) wake = std::min(wake, holder_clock_now() + look_again);
        if (killing_) wake = holder_clock_now() + look_again;
        alarm_.set(wake);
        pollfd waiting[]{{signals_.fd(), POLLIN, 0},
                         {alarm_.fd(), POLLIN, 0},
                         {keeper_.get(), POLLIN, 0}};  // poll ignores an fd of -1
        ::poll(waiting, 3, -1);
        while (signals_.take()) {
        }
    }

    void hear_keeper() {
        while (keeper_) {
            const auto bytes = receive_message(keeper_.get());
            if (!bytes) return;
            const auto order = decode_order(*bytes);
            if (!order) {
                keeper_.close();
                rules_->keeper_gone(holder_clock_now());
            } else if (const auto* renewed = std::get_if<RenewedOrder>(&*order)) {
                rules_->renewed(renewed->deadlines);
            } else if (std::holds_alternative<LostOrder>(*order)) {
                rules_->lost(holder_clock_now());
            } else if (const auto* stop = std::get_if<StopOrder>(&*order)) {
                rules_->stop(stop->kill_at);
            } else if (const auto* passed = std::get_if<SignalOrder>(&*order)) {
                pass_on(passed->signal);
            }
        }
    }

    /// Also resumes suspended processes: they could not act on the signal, and would never end.
    void pass_on(int signal) {
        rules_->asked();
        const ProcessTable table = ProcessTable::read();
        if (signal != SIGTERM || !whole_) {  // processes that left the group are not part of the command
            if (signal == SIGTERM) asked_.note_group(table, leader_);
            ::kill(-leader_, signal);
            const ProcessTable after = ProcessTable::read();
            for (const Process& process : after.all())
                if (process.group == leader_ && process.stopped) ::kill(process.id, SIGCONT);
            return;
        }
        asked_.note(table, getpid());
        send_signal(everything_below(table, getpid()), SIGTERM);
        wake_suspended(ProcessTable::read(), getpid());
    }

    /// The leader is not reaped until the end: as long as its zombie exists, the id of its group cannot be reused.
    void watch_leader() {
        siginfo_t info{};
        while (waitid(P_PID, leader_, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
            report(StoppedReport{info.si_status});
            info = {};
        }
        if (!leader_ended_ && waitid(P_PID, leader_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
            leader_ended_ = true;
            status_ = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
            forced_ = rules_->stopping();
        }
    }

    void act() {
        switch (rules_->step(holder_clock_now())) {
            case GuardianRules::Step::none:
                return;
            case GuardianRules::Step::terminate:
                ask_all_to_stop();
                return;
            case GuardianRules::Step::kill:
                killing_ = true;
                cgroup_.kill();
                kill_all();
                return;
        }
    }

    /// Includes processes that left the group: as the subreaper, this process is an ancestor of all of them.
    void ask_all_to_stop() {
        const ProcessTable table = ProcessTable::read();
        const SignalTargets targets = asked_.unasked_below(table, getpid());
        asked_.note(table, getpid());
        send_signal(targets, SIGTERM);
        wake_suspended(ProcessTable::read(), getpid());
    }

    void kill_all() {
        ::kill(-leader_, SIGKILL);
        for (const pid_t process : ProcessTable::read().living_below(getpid()))
            ::kill(process, SIGKILL);
    }

    /// True when nothing is left to guard. A command that ended by itself does not include processes that left its
    /// group, unless it is guarded as a whole.
    bool settled() {
        if (!leader_ended_) {
            reap_orphans_before_leader();
            return false;
        }
        const ProcessTable table = ProcessTable::read();
        for (const Process& child : table.children_of(getpid()))
            if (child.dead && child.id != leader_) waitpid(child.id, nullptr, WNOHANG);
        const bool ended = session_ || !table.lives(leader_);
        if (whole_) {
            if (ended) note_end_of_command(table);
        } else if (!rules_->stopping()) {
            if (ended) left_behind_ = count_below(table);
            return ended;
        }
        // Twice, since a process may be forked during the first read.
        return nothing_lives(table) && nothing_lives(ProcessTable::read());
    }

    bool nothing_lives(const ProcessTable& table) const {
        return table.living_below(getpid()).empty() && cgroup_.is_empty();
    }

    /// Processes that remain in the command's group are part of it, unless the command has a session of its own.
    void note_end_of_command(const ProcessTable& table) {
        if (std::exchange(command_ended_, true)) return;
        left_behind_ = count_below(table);
        if (!nothing_lives(table)) rules_->command_ended(holder_clock_now());
    }

    static std::int32_t count_below(const ProcessTable& table) {
        return static_cast<std::int32_t>(table.living_outside_guardians(getpid()).size());
    }

    void reap_orphans_before_leader() {
        siginfo_t info{};
        while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
               info.si_pid != leader_) {
            waitpid(info.si_pid, nullptr, WNOHANG);
            info = {};
        }
    }

    Fd keeper_;
    std::vector<std::string> command_;
    SharedDeadline shared_;
    SignalInbox signals_;
    BootAlarm alarm_;
    std::optional<GuardianRules> rules_;
    pid_t leader_ = 0;
    bool leader_ended_ = false;
    bool command_ended_ = false;
    bool killing_ = false;
    bool whole_ = false;
    bool session_ = false;
    bool forced_ = false;  ///< it was asked to stop before it ended
    AskedProcesses asked_;
    Cgroup cgroup_{""};
    int status_ = 0;
    std::int32_t left_behind_ = 0;
};

/// Moves this process into its own group, so that signals to the group of the keeper or the other guardian, even
/// SIGKILL, do not reach it. Makes it a subreaper, so that orphans of the guarded command become its children.
void stand_alone() {
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace

int guardian_main(const std::vector<std::string>& arguments) {
    const auto socket = arguments.empty() ? std::nullopt : parse_number(arguments[0]);
    if (!socket || arguments.size() < 2 || fcntl(static_cast<int>(*socket), F_SETFD, FD_CLOEXEC) != 0) return 2;
    Fd keeper{static_cast<int>(*socket)};
    std::signal(SIGCHLD, SIG_DFL);
    auto shared = SharedDeadline::make();
    if (!shared) return 1;
    stand_alone();
    prctl(PR_SET_NAME, guardian_name);
    const pid_t guardian = fork();
    if (guardian < 0) return 1;
    if (guardian > 0) {
        keeper.close();
        SecondGuardian{guardian, std::move(*shared)}.run();
        return 0;
    }
    stand_alone();
    return Guardian{std::move(keeper), {arguments.begin() + 1, arguments.end()}, std::move(*shared)}.run();
}

}  // namespace holdfast::supervise
