#include "cli/leased_run.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <stop_token>
#include <sys/poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "base/wakeup.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "supervise/cgroup.h"
#include "supervise/guarded_command.h"
#include "supervise/supervisor.h"

namespace holdfast::cli {
namespace {

constexpr std::chrono::milliseconds for_ever = 24h * 365;
/// The pause between attempts to register with an unreachable server.
constexpr auto register_pause = 500ms;

AcquireOptions acquire_options(const TakeOptions& take) {
    AcquireOptions options;
    const auto ms = [](Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration); };
    if (take.ttl) options.ttl = ms(*take.ttl);
    options.reason = take.reason;
    options.name_space = take.name_space;
    options.session = take.session;
    return options;
}

bool may_pass(Outcome outcome) {
    return outcome != Outcome::refused && outcome != Outcome::die && outcome != Outcome::cancelled;
}

/// An interrupted wait must neither leave a lease behind nor hang with the server.
constexpr auto give_up_timeout = 1s;

int exit_code_for(const Failure& failure) {
    if (failure.outcome == Outcome::lost) return exit_lost;
    const auto code = code_in(failure.code);
    const bool nobody_answered = failure.outcome == Outcome::unreachable && (!code || !is_answer_code(*code));
    return nobody_answered ? exit_unreachable : exit_code_of(ErrorCode::named(failure.code));
}

supervise::WorkDeadlines deadlines_of(const Lease& lease) {
    const HolderInstant now = holder_clock_now();  // read first: errs on the early side (T3)
    const Remaining left = lease.timeline();
    return {now + left.soft, now + left.hard};
}

std::vector<std::string> environment_of(const Lease& lease) {
    std::string tokens = "HOLDFAST_TOKEN=";
    std::string leases = "HOLDFAST_LEASE=";
    std::string resources = "HOLDFAST_RESOURCE=";
    std::string separator;
    for (const Grant& grant : lease.grants()) {
        tokens += fmt::format("{}{}", separator, grant.token);
        leases += separator + grant.id;
        resources += separator + grant.resource;
        separator = "\n";
    }
    return {tokens, leases, resources};
}

/// None if daemons may keep running: they would stay in the cgroup for ever.
supervise::Cgroup cgroup_of_the_command(const TakeOptions& take) {
    const auto parent = take.leave_daemons ? std::nullopt : supervise::writable_cgroup();
    return supervise::Cgroup{parent ? fmt::format("{}/holdfast-run-{}", *parent, getpid()) : ""};
}

/// Acquires the leases on a separate thread, so that a signal can end the wait. Prints whom it waits for.
class AcquireTask {
 public:
    /// REQUIRES: the options and the screen outlive this object.
    AcquireTask(const CommonOptions& common, const TakeOptions& take, const Screen& screen);
    ~AcquireTask() { answer(); }
    AcquireTask(const AcquireTask&) = delete;
    AcquireTask& operator=(const AcquireTask&) = delete;

    /// Readable when there is an answer.
    int fd() const { return done_.fd(); }
    /// Waits at most this long; true if there is an answer.
    bool wait(std::chrono::milliseconds time) const;
    /// Blocks until there is an answer, if fd() is not readable.
    Acquired& answer();
    /// Cancels the wait: the answer comes soon, and unless it is a lease, no lease is left behind.
    void give_up() { stop_.request_stop(); }

 private:
    void run();
    void acquire(const std::vector<Intent>& intents);
    std::optional<Failure> register_agent_first();
    bool waits() const { return take_.wait_for_ever || take_.wait.value_or(0s) > 0s; }

    Client client_;
    const CommonOptions& common_;
    const TakeOptions& take_;
    const Screen& screen_;
    Wakeup done_;
    std::stop_source stop_;
    std::optional<Acquired> answer_;
    std::thread thread_;
};

/// The guardian of one command, and its leases.
class LeasedCommand {
 public:
    explicit LeasedCommand(LeasedRun run) : run_(std::move(run)) {}

    LeasedRun::Ending run();

 private:
    using Ending = LeasedRun::Ending;

    Ending complain(const Error& error, int exit_code) const;
    void await(AcquireTask& task, supervise::GuardedCommand& command);
    [[noreturn]] static void give_up(AcquireTask& task, supervise::GuardedCommand& command, int signal);
    Ending work(supervise::GuardedCommand& command, Lease& lease);
    void inform_guardian(supervise::GuardedCommand& command, Lease& lease);
    Ending cannot_run(int error) const;
    Ending ended(const supervise::EndedReport& report) const;

    const LeasedRun run_;
    std::mutex sending_;
    std::atomic<bool> lost_ = false;
};

AcquireTask::AcquireTask(const CommonOptions& common, const TakeOptions& take, const Screen& screen)
    : client_({.server = common.server,
               .holder = take.holder.empty() ? default_holder() : take.holder,
               .epoch = take.epoch}),
      common_(common),
      take_(take),
      screen_(screen),
      thread_([this] { run(); }) {}

bool AcquireTask::wait(std::chrono::milliseconds time) const {
    pollfd waiting{fd(), POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) == 1;
}

Acquired& AcquireTask::answer() {
    if (thread_.joinable()) thread_.join();
    return *answer_;
}

void AcquireTask::run() {
    std::vector<Intent> intents;
    for (const std::string& resource : take_.resources)
        intents.push_back({resource, take_.predicate});
    if (auto failure = register_agent_first())
        answer_.emplace(std::move(*failure));
    else
        acquire(intents);
    done_.notify();
}

void AcquireTask::acquire(const std::vector<Intent>& intents) {
    AcquireOptions options = acquire_options(take_);
    options.stop = stop_.get_token();
    answer_.emplace(client_.acquire(intents, options));
    // A first request without a wait reveals the holders to wait for.
    while (waits() && !*answer_ && may_pass(answer_->outcome())) {
        screen_.note("waiting: " + describe(answer_->failure()));
        options.wait = take_.wait_for_ever ? for_ever : std::chrono::ceil<std::chrono::milliseconds>(*take_.wait);
        answer_.emplace(client_.acquire(intents, options));
        if (!take_.wait_for_ever) break;
    }
}

/// Registers the holder as an agent, if a priority is given; waits for an unreachable server as for a turn.
std::optional<Failure> AcquireTask::register_agent_first() {
    if (take_.priority.empty()) return std::nullopt;
    const HolderInstant start = holder_clock_now();
    for (bool noted = false;;) {
        Api api{common_};
        const auto answer = register_agent(api, {client_.holder(), take_.priority, take_.epoch});
        if (answer && answer->ok()) return std::nullopt;
        const Failure failure = answer ? failure_of(*answer)
                                       : Failure{.outcome = Outcome::unreachable,
                                                 .code = std::string(answer.error().code.name()),
                                                 .message = answer.error().message};
        const bool goes_on = take_.wait_for_ever || holder_clock_now() - start < take_.wait.value_or(0s);
        const bool helps = answer ? is_temporary(*answer) : answer.error().code == Code::unreachable;
        if (!helps || !goes_on) return failure;
        if (!std::exchange(noted, true)) screen_.note("waiting: " + describe(failure));
        std::this_thread::sleep_for(register_pause);
    }
}

LeasedRun::Ending LeasedCommand::run() {
    // The guardian starts first: it must not inherit connections, and it should be running when the lease is granted.
    auto command =
        supervise::GuardedCommand::prepare({.command = run_.take.command, .mask = run_.signals.mask_before()});
    if (!command) return complain(command.error(), exit_failed);
    AcquireTask task{run_.common, run_.take, run_.screen};
    await(task, *command);
    if (!task.answer()) {
        const Failure& failure = task.answer().failure();
        run_.screen.complain({ErrorCode::named(failure.code), describe(failure)}, failure.retry_in);
        return {exit_code_for(failure)};
    }
    Lease& lease = task.answer().lease();
    if (run_.on_granted) run_.on_granted(lease);
    const Ending ending = work(*command, lease);
    if (!lease.release() && !ending.lost)
        run_.screen.note("could not release the lease, because the server did not answer; it expires by itself");
    return ending;
}

LeasedRun::Ending LeasedCommand::complain(const Error& error, int exit_code) const {
    run_.screen.complain(error);
    return {exit_code};
}

void LeasedCommand::await(AcquireTask& task, supervise::GuardedCommand& command) {
    for (;;) {
        pollfd waiting[]{{task.fd(), POLLIN, 0}, {run_.signals.fd(), POLLIN, 0}};
        ::poll(waiting, 2, -1);
        if (waiting[0].revents != 0) return;
        const auto signal = run_.signals.take();
        if (!signal || !supervise::is_for_the_command(*signal) || *signal == SIGWINCH || *signal == SIGCONT) continue;
        if (*signal == SIGTSTP)
            ::raise(SIGSTOP);
        else
            give_up(task, command, *signal);
    }
}

void LeasedCommand::give_up(AcquireTask& task, supervise::GuardedCommand& command, int signal) {
    command.destroy();
    task.give_up();
    if (task.wait(give_up_timeout) && task.answer()) task.answer().lease().release();
    std::_Exit(128 + signal);  // it may still be registering an agent
}

LeasedRun::Ending LeasedCommand::work(supervise::GuardedCommand& command, Lease& lease) {
    supervise::Terminal terminal;
    const bool foreground = terminal.is_interactive();
    std::vector<std::string> environment = environment_of(lease);
    environment.insert(environment.end(), run_.environment.begin(), run_.environment.end());
    supervise::StartOrder order{deadlines_of(lease), foreground, environment};
    order.whole = !run_.take.leave_daemons;
    const supervise::Cgroup cgroup = cgroup_of_the_command(run_.take);
    order.cgroup = cgroup.directory();
    const auto started = command.start(order);
    if (!started) return complain(started.error(), exit_cannot_run);
    inform_guardian(command, lease);
    supervise::Supervisor supervisor{{command, run_.signals, terminal, foreground}};
    const auto end = supervisor.run();
    cgroup.remove();  // if no guardian did
    if (const auto* cannot = std::get_if<supervise::CannotRunReport>(&end)) return cannot_run(cannot->error);
    Ending ending = ended(std::get<supervise::EndedReport>(end));
    ending.told_to_end = supervisor.told_to_end();
    return ending;
}

/// Every renewal moves the guardian's deadlines; a loss ends the command at once.
void LeasedCommand::inform_guardian(supervise::GuardedCommand& command, Lease& lease) {
    const auto send_deadlines = [this, &command, &lease] {
        const std::lock_guard in_order{sending_};
        command.renewed(deadlines_of(lease));
    };
    lease.on_change([this, send_deadlines](Outcome outcome) {
        if (outcome == Outcome::granted) return send_deadlines();
        run_.screen.note("a renewal failed; trying again until the lease runs out");
    });
    lease.on_lost([this, &command](const Failure& failure) {
        // The server lets these leases run out on their timeline (R7), so the command keeps its time to finish.
        const auto code = code_in(failure.code);
        const bool runs_out = code == Code::renewal_barred || code == Code::banned;
        const std::string what = runs_out ? "the lease cannot be renewed: " : "the lease is lost: ";
        run_.screen.complain({ErrorCode::named(failure.code), what + failure.message});
        if (runs_out) return;
        lost_ = true;
        command.lost();
    });
    send_deadlines();  // for changes before the callbacks were set
}

LeasedRun::Ending LeasedCommand::cannot_run(int error) const {
    const std::string message = fmt::format("cannot run '{}': {}", run_.take.command[0], std::strerror(error));
    return complain({Code::cannot_run, message}, error == ENOENT ? exit_not_found : exit_cannot_run);
}

LeasedRun::Ending LeasedCommand::ended(const supervise::EndedReport& report) const {
    if (report.forced || lost_) return {exit_lost, true};
    if (report.left_behind > 0)
        run_.screen.note(fmt::format(
            "{} process(es) left the command's group and {}", report.left_behind,
            run_.take.leave_daemons ? "go on without the lease" : "were stopped; --leave-daemons lets them go on"));
    return {WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status)};
}

}  // namespace

LeasedRun::Ending run_leased(LeasedRun run) {
    return LeasedCommand{std::move(run)}.run();
}

int run_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    supervise::SignalInbox signals{supervise::supervised_signals()};
    const auto ending =
        run_leased({.common = arguments.common, .take = arguments.take, .screen = screen, .signals = signals});
    if (ending.lost) screen.complain(Error{Code::lost, "the command was stopped, because its lease could not be kept"});
    return ending.exit_code;
}

}  // namespace holdfast::cli
