#include "cli/leased_run.h"

#include <cstring>
#include <sys/poll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/code.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "supervise/cgroup.h"
#include "supervise/supervisor.h"

namespace holdfast {
namespace {

/// Whoever interrupts the wait should neither leave a lease behind nor wait for a server that hangs.
constexpr auto last_answer = 1s;

int exit_code_for(const Failure& failure) {
    if (failure.outcome == Outcome::lost) return exit_lost;
    const bool nobody_answered = failure.outcome == Outcome::unreachable && !core::code_in(failure.code);
    return nobody_answered ? exit_unreachable : exit_code_of(failure.code);
}

WorkDeadlines deadlines_of(const Lease& lease) {
    const HolderInstant now = holder_clock_now();  // read first: rather early than late (T3)
    const Remaining left = lease.timeline();
    return {now + left.soft, now + left.hard};
}

std::vector<std::string> environment_of(const Lease& lease) {
    std::string tokens = "HOLDFAST_TOKEN=";
    std::string leases = "HOLDFAST_LEASE=";
    std::string resources = "HOLDFAST_RESOURCE=";
    std::string separator;
    for (const Grant& grant : lease.grants()) {
        tokens += separator + std::to_string(grant.token);
        leases += separator + grant.id;
        resources += separator + grant.resource;
        separator = "\n";
    }
    return {tokens, leases, resources};
}

/// Not for daemons that go on: they would be found in it for ever.
Cgroup cgroup_of_the_command(const TakeOptions& take) {
    const auto parent = take.leave_daemons ? std::nullopt : writable_cgroup();
    return Cgroup{parent ? *parent + "/holdfast-run-" + std::to_string(getpid()) : ""};
}

}  // namespace

LeasedRun::Ending LeasedRun::run() {
    // The guardian first: it must not inherit connections, and it should be there when the lease is granted.
    auto command = GuardedCommand::prepare({.command = parts_.take.command, .mask = parts_.signals.mask_before()});
    if (!command) return complain(command.error(), exit_failed);
    Taking taking{parts_.common, parts_.take, parts_.screen};
    await(taking, *command);
    if (!taking.answer()) {
        const Failure& failure = taking.answer().failure();
        parts_.screen.complain({failure.code, describe(failure)}, failure.retry_in);
        return {exit_code_for(failure)};
    }
    Lease& lease = taking.answer().lease();
    if (parts_.on_granted) parts_.on_granted(lease);
    const Ending ending = work(*command, lease);
    if (!lease.release() && !ending.lost)
        parts_.screen.note("the server could not be told that the lease is over; it ends by itself");
    return ending;
}

LeasedRun::Ending LeasedRun::complain(const Error& error, int exit_code) const {
    parts_.screen.complain(error);
    return {exit_code};
}

void LeasedRun::await(Taking& taking, GuardedCommand& command) {
    for (;;) {
        pollfd waiting[]{{taking.fd(), POLLIN, 0}, {parts_.signals.fd(), POLLIN, 0}};
        ::poll(waiting, 2, -1);
        if (waiting[0].revents != 0) return;
        const auto signal = parts_.signals.take();
        if (!signal || !is_for_the_command(*signal) || *signal == SIGWINCH || *signal == SIGCONT) continue;
        if (*signal == SIGTSTP)
            ::raise(SIGSTOP);
        else
            give_up(taking, command, *signal);
    }
}

void LeasedRun::give_up(Taking& taking, GuardedCommand& command, int signal) {
    command.destroy();
    taking.give_up();
    if (taking.wait(last_answer) && taking.answer()) taking.answer().lease().release();
    std::_Exit(128 + signal);  // it may still be registering an agent
}

LeasedRun::Ending LeasedRun::work(GuardedCommand& command, Lease& lease) {
    Terminal terminal;
    const bool foreground = terminal.is_interactive();
    std::vector<std::string> environment = environment_of(lease);
    environment.insert(environment.end(), parts_.environment.begin(), parts_.environment.end());
    StartOrder order{deadlines_of(lease), foreground, environment};
    order.whole = !parts_.take.leave_daemons;
    const Cgroup cgroup = cgroup_of_the_command(parts_.take);
    order.cgroup = cgroup.directory();
    const auto started = command.start(order);
    if (!started) return complain(started.error(), exit_cannot_run);
    keep_told(command, lease);
    Supervisor supervisor{{command, parts_.signals, terminal, foreground}};
    const auto end = supervisor.run();
    cgroup.remove();  // if no guardian did
    if (const auto* cannot = std::get_if<CannotRunReport>(&end)) return cannot_run(cannot->error);
    Ending ending = ended(std::get<EndedReport>(end));
    ending.told_to_end = supervisor.told_to_end();
    return ending;
}

/// Every renewal moves the guardian's deadlines; a loss ends the work at once.
void LeasedRun::keep_told(GuardedCommand& command, Lease& lease) {
    const auto tell = [this, &command, &lease] {
        const std::lock_guard in_order{telling_};
        command.renewed(deadlines_of(lease));
    };
    lease.on_change([this, tell](Outcome outcome) {
        if (outcome == Outcome::granted) return tell();
        parts_.screen.note("a renewal failed; trying again until the lease runs out");
    });
    lease.on_lost([this, &command](const Failure& failure) {
        // The server lets these run out on their timeline (R7), so the command keeps its time to finish.
        const auto code = core::code_in(failure.code);
        const bool runs_out = code == core::Code::renewal_barred || code == core::Code::banned;
        const std::string what = runs_out ? "the lease cannot be renewed: " : "the lease is lost: ";
        parts_.screen.complain({failure.code, what + failure.message});
        if (runs_out) return;
        lost_ = true;
        command.lost();
    });
    tell();  // what changed before anyone listened
}

LeasedRun::Ending LeasedRun::cannot_run(int error) const {
    const std::string message = "cannot run '" + parts_.take.command[0] + "': " + std::strerror(error);
    return complain({"cannot_run", message}, error == ENOENT ? exit_not_found : exit_cannot_run);
}

LeasedRun::Ending LeasedRun::ended(const EndedReport& report) const {
    if (report.forced || lost_) return {exit_lost, true};
    if (report.left_behind > 0)
        parts_.screen.note(
            std::to_string(report.left_behind) + " process(es) left the command's group and " +
            (parts_.take.leave_daemons ? "go on without the lease" : "were stopped; --leave-daemons lets them go on"));
    return {WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status)};
}

}  // namespace holdfast
