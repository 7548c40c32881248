#include "supervise/supervisor.h"

#include <algorithm>
#include <poll.h>
#include <sys/wait.h>

#include "base/clock.h"

namespace holdfast::supervise {
namespace {

/// A guardian that has not reported within this time after everything was killed must be stopped, and is killed too.
constexpr Duration guardian_patience = 1s;
/// The longest sleep, since hard() may change while this thread waits.
constexpr Duration wait_max = 1s;

EndedReport killed_by_us() {
    return {.status = SIGKILL, .forced = true, .left_behind = 0};
}

bool asks_to_end(int signal) {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

std::vector<int> supervised_signals() {
    return {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGTTOU, SIGPIPE};
}

bool is_for_the_command(int signal) {
    return signal != SIGTTOU && signal != SIGPIPE;
}

Supervisor::Ending Supervisor::run() {
    for (;;) {
        if (const auto ending = hear_guardian()) {
            parts_.terminal.take_back();
            const auto* ended = std::get_if<EndedReport>(&*ending);
            if (ended != nullptr && WIFSIGNALED(ended->status)) parts_.terminal.restore();
            return *ending;
        }
        pass_signals_on();
        if (const auto ending = stand_in(holder_clock_now())) {
            parts_.terminal.take_back();
            parts_.terminal.restore();
            return *ending;
        }
        wait();
    }
}

void Supervisor::wait() {
    const HolderInstant now = holder_clock_now();
    HolderInstant until = killed_at_ ? *killed_at_ + guardian_patience : parts_.command.hard();
    until = std::clamp(until, now, now + wait_max);
    pollfd waiting[]{{parts_.command.fd(), POLLIN, 0}, {parts_.signals.fd(), POLLIN, 0}};
    ::poll(waiting, 2, static_cast<int>(to_ms(until - now)) + 1);
}

std::optional<Supervisor::Ending> Supervisor::hear_guardian() {
    for (;;) {
        const GuardedCommand::Heard heard = parts_.command.hear();
        if (heard.guardian_gone) {
            parts_.command.destroy();
            return killed_by_us();
        }
        if (!heard.report) return std::nullopt;
        if (const auto* ended = std::get_if<EndedReport>(&*heard.report)) return *ended;
        if (const auto* cannot = std::get_if<CannotRunReport>(&*heard.report)) return *cannot;
        if (const auto* started = std::get_if<StartedReport>(&*heard.report); started != nullptr && parts_.foreground)
            parts_.terminal.given(started->group);
        if (const auto* stopped = std::get_if<StoppedReport>(&*heard.report)) on_stopped(stopped->signal);
    }
}

/// Signals that arrive before the command runs stay in the inbox until it does.
void Supervisor::pass_signals_on() {
    while (parts_.command.group() != 0) {
        const auto signal = parts_.signals.take();
        if (!signal) return;
        if (!is_for_the_command(*signal)) continue;
        if (!asks_to_end(*signal)) {
            parts_.command.signal(*signal);
            continue;
        }
        if (!told_to_end_) told_to_end_ = *signal;
        parts_.command.ask_to_end(*signal);
    }
}

void Supervisor::on_stopped(int signal) {
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && parts_.terminal.is_ours()) {
        parts_.terminal.give_to(parts_.command.group());
        parts_.command.signal(SIGCONT);
    } else if (parts_.terminal) {
        suspend_like_the_command();
    }
}

/// The shell waits for this process, not for the command: stop, so that the shell prompts, and continue when it resumes
/// us. The lease is not renewed meanwhile. The guardian keeps running and ends the command in time if this takes too
/// long.
void Supervisor::suspend_like_the_command() {
    const bool had_terminal = parts_.terminal.is_given();
    parts_.terminal.take_back();
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    // The terminal would have stopped our whole group, had the command not owned the terminal.
    ::kill(had_terminal ? 0 : getpid(), SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // this process stops here
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    if (had_terminal && parts_.terminal.is_ours()) parts_.terminal.give_to(parts_.command.group());
    parts_.command.signal(SIGCONT);
}

/// The guardian kills at the hard deadline. It cannot do so if it is stopped, so the keeper does so as well.
std::optional<Supervisor::Ending> Supervisor::stand_in(HolderInstant now) {
    if (now < parts_.command.hard()) return std::nullopt;
    if (!killed_at_) {
        killed_at_ = now;
        parts_.command.kill_command();
    }
    if (now < *killed_at_ + guardian_patience) return std::nullopt;
    parts_.command.destroy();
    return killed_by_us();
}

}  // namespace holdfast::supervise
