#include "supervise/guardian.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervise/asked_processes.h"
#include "supervise/cgroup.h"
#include "supervise/fd.h"
#include "supervise/guardian_rules.h"
#include "supervise/launch.h"
#include "supervise/messages.h"
#include "supervise/processes.h"
#include "supervise/signals.h"

namespace holdfast {
namespace {

/// How often to look again where no event tells: what a dead leader left in its group, or what was just killed.
constexpr Duration look_again = 10ms;

std::vector<int> all_signals() {
    std::vector<int> signals;
    for (int signal = 1; signal < SIGRTMIN; ++signal)
        if (signal != SIGKILL && signal != SIGSTOP && signal != SIGSEGV && signal != SIGBUS && signal != SIGFPE &&
            signal != SIGILL && signal != SIGABRT)
            signals.push_back(signal);
    return signals;
}

class Guardian {
 public:
    Guardian(Fd keeper, std::vector<std::string> command)
        : keeper_(std::move(keeper)),
          command_(std::move(command)),
          signals_(all_signals()),
          timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

    int run() {
        const auto start = await_start();
        if (!start || !launch_command(*start)) return 0;
        while (!settled()) {
            wait();
            hear_keeper();
            watch_leader();
            act();
        }
        cgroup_.remove();
        report(EndedReport{status_, forced_ || (!whole_ && rules_->stopping()), left_behind()});
        return 0;
    }

 private:
    void report(const Report& report) {
        if (keeper_) (void)send_message(keeper_.get(), encode(report), true);
    }

    /// Nothing if the keeper went away without wanting the command run.
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
        if (holder_clock_now() >= start.deadlines.soft) {  // the keeper was stopped on its way here
            report(EndedReport{.status = SIGTERM, .forced = true, .left_behind = 0});
            return false;
        }
        if (Cgroup cgroup{start.cgroup}; cgroup.create()) cgroup_ = cgroup;
        whole_ = start.whole;
        const Launched launched = launch({command_, start.environment, signals_.mask_before(), start.foreground, whole_,
                                          start.directory, cgroup_.directory()});
        if (launched.leader == 0) {
            cgroup_.remove();
            report(CannotRunReport{launched.error});
            return false;
        }
        leader_ = launched.leader;
        rules_.emplace(start.deadlines);
        report(StartedReport{leader_});
        return true;
    }

    void wait() {
        HolderInstant wake = rules_->wake_at();
        if (leader_ended_ || killing_) wake = std::min(wake, holder_clock_now() + look_again);
        if (killing_) wake = holder_clock_now() + look_again;
        const auto since_boot = std::max(wake.time_since_epoch(), Duration{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        itimerspec alarm{};
        alarm.it_value.tv_sec = seconds.count();
        alarm.it_value.tv_nsec = (since_boot - seconds).count();
        timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &alarm, nullptr);
        pollfd waiting[]{
            {signals_.fd(), POLLIN, 0}, {timer_.get(), POLLIN, 0}, {keeper_.get(), POLLIN, 0}};  // -1 is passed over
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

    void pass_on(int signal) {
        rules_->asked();
        if (signal != SIGTERM) {
            ::kill(-leader_, signal);
            return;
        }
        const ProcessTable table = ProcessTable::read();
        asked_.note(table, getpid());
        send_signal(everything_below(table, getpid()), SIGTERM);
    }

    /// The leader is left unreaped to the end: as long as its zombie is there, its group's number cannot go to
    /// strangers.
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
            if (whole_) rules_->command_ended(holder_clock_now());
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

    /// Also what left the group: as the subreaper, this process is an ancestor of all of it.
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

    /// True when nothing is left to guard. Work that is told to stop includes what left the group; work that ended by
    /// itself does not.
    bool settled() {
        if (!leader_ended_) {
            reap_orphans_before_leader();
            return false;
        }
        const ProcessTable table = ProcessTable::read();
        for (const Process& child : table.children_of(getpid()))
            if (child.dead && child.id != leader_) waitpid(child.id, nullptr, WNOHANG);
        if (!whole_ && !rules_->stopping()) return !table.lives(leader_);
        return table.living_below(getpid()).empty() && cgroup_.is_empty();
    }

    void reap_orphans_before_leader() {
        siginfo_t info{};
        while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
               info.si_pid != leader_) {
            waitpid(info.si_pid, nullptr, WNOHANG);
            info = {};
        }
    }

    std::int32_t left_behind() const {
        return static_cast<std::int32_t>(ProcessTable::read().living_below(getpid()).size());
    }

    Fd keeper_;
    std::vector<std::string> command_;
    SignalInbox signals_;
    Fd timer_;
    std::optional<GuardianRules> rules_;
    pid_t leader_ = 0;
    bool leader_ended_ = false;
    bool killing_ = false;
    bool whole_ = false;
    bool forced_ = false;  ///< it was told to stop before it ended
    AskedProcesses asked_;
    Cgroup cgroup_{""};
    int status_ = 0;
};

}  // namespace

int guardian_main(const std::vector<std::string>& arguments) {
    const auto socket = arguments.empty() ? std::nullopt : parse_number(arguments[0]);
    if (!socket || arguments.size() < 2 || fcntl(static_cast<int>(*socket), F_SETFD, FD_CLOEXEC) != 0) return 2;
    // A group of its own: what is sent to the keeper's group, even SIGKILL, must not take the guardian along.
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::signal(SIGCHLD, SIG_DFL);
    return Guardian{Fd{static_cast<int>(*socket)}, {arguments.begin() + 1, arguments.end()}}.run();
}

}  // namespace holdfast
