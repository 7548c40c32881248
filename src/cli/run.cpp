#include <holdfast/client.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sys/wait.h>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "cli/agent_calls.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/identity.h"
#include "cli/screen.h"
#include "supervise/supervisor.h"

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds for_ever = 24h * 365;
/// Whoever interrupts the wait should not leave a lease behind that was granted in the same instant.
constexpr auto last_answer = 200ms;
/// Between two tries to register with a server that is away.
constexpr auto enrol_pause = 500ms;

AcquireOptions acquire_options(const TakeOptions& take) {
    AcquireOptions options;
    const auto ms = [](Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration); };
    if (take.ttl) options.ttl = ms(*take.ttl);
    options.reason = take.reason;
    options.name_space = take.name_space;
    options.session = take.session;
    return options;
}

int exit_code_for(const Failure& failure) {
    if (failure.outcome == Outcome::unreachable) return exit_unreachable;
    if (failure.outcome == Outcome::lost) return exit_lost;
    return exit_code_of(failure.code);
}

/// Takes the leases in a thread of its own, so that a signal can end the wait.
class Taking {
 public:
    Taking(const Arguments& arguments, const Screen& screen)
        : client_({.server = arguments.common.server,
                   .holder = arguments.take.holder.empty() ? default_holder() : arguments.take.holder,
                   .epoch = arguments.take.epoch}),
          common_(arguments.common),
          take_(arguments.take),
          screen_(screen),
          done_(eventfd(0, EFD_CLOEXEC)),
          thread_([this] { run(); }) {}
    ~Taking() { answer(); }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

    /// Readable when there is an answer.
    int fd() const { return done_.get(); }
    bool wait(std::chrono::milliseconds time) const {
        pollfd waiting{fd(), POLLIN, 0};
        return ::poll(&waiting, 1, static_cast<int>(time.count())) == 1;
    }
    /// Waits for it, if fd() is not readable.
    Acquired& answer() {
        if (thread_.joinable()) thread_.join();
        return *answer_;
    }

 private:
    void run() {
        std::vector<Intent> intents;
        for (const std::string& resource : take_.resources)
            intents.push_back({resource, take_.predicate});
        if (auto failure = enrol())
            answer_.emplace(std::move(*failure));
        else
            acquire(intents);
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t told = ::write(done_.get(), &one, sizeof one);
    }

    void acquire(const std::vector<Intent>& intents) {
        AcquireOptions options = acquire_options(take_);
        answer_.emplace(client_.acquire(intents, options));
        // Asking once without waiting tells whom we wait for.
        while (waits() && !*answer_ && may_pass(answer_->outcome())) {
            screen_.note("waiting: " + describe(answer_->failure()));
            options.wait = take_.wait_for_ever ? for_ever : std::chrono::ceil<std::chrono::milliseconds>(*take_.wait);
            answer_.emplace(client_.acquire(intents, options));
            if (!take_.wait_for_ever) break;
        }
    }

    /// Registers the holder as an agent, if it is to be one; waits for a server that is away as for a turn.
    std::optional<Failure> enrol() {
        if (take_.priority.empty()) return std::nullopt;
        const HolderInstant start = holder_clock_now();
        for (bool told = false;;) {
            Api api{common_};
            const auto answer = register_agent(api, {client_.holder(), take_.priority, take_.epoch});
            if (answer && answer->ok()) return std::nullopt;
            if (answer) return refusal_of(*answer);
            const Failure failure{
                .outcome = Outcome::unreachable, .code = answer.error().code, .message = answer.error().message};
            const bool goes_on = take_.wait_for_ever || holder_clock_now() - start < take_.wait.value_or(0s);
            if (failure.code != "unreachable" || !goes_on) return failure;
            if (!std::exchange(told, true)) screen_.note("waiting: " + describe(failure));
            std::this_thread::sleep_for(enrol_pause);
        }
    }

    static Failure refusal_of(const Answer& answer) {
        return {.outcome = Outcome::refused,
                .code = error_code_of(answer),
                .message = text_of(field_of(answer.body, "error"), "message")};
    }

    bool waits() const { return take_.wait_for_ever || take_.wait.value_or(0s) > 0s; }
    static bool may_pass(Outcome outcome) { return outcome != Outcome::refused && outcome != Outcome::die; }

    Client client_;
    const CommonOptions& common_;
    const TakeOptions& take_;
    const Screen& screen_;
    Fd done_;
    std::optional<Acquired> answer_;
    std::thread thread_;
};

/// One `holdfast run`, from the guardian's start to the lease's release.
class Run {
 public:
    explicit Run(const Arguments& arguments)
        : arguments_(arguments), screen_(arguments.common), signals_(supervised_signals()) {}

    int run() {
        // The guardian first: it must not inherit connections, and it should be there when the lease is granted.
        auto command = GuardedCommand::prepare({.command = arguments_.take.command, .mask = signals_.mask_before()});
        if (!command) return complain(command.error(), exit_failed);
        Taking taking{arguments_, screen_};
        await(taking, *command);
        if (!taking.answer()) {
            const Failure& failure = taking.answer().failure();
            screen_.complain({failure.code, describe(failure)}, failure.retry_in);
            return exit_code_for(failure);
        }
        Lease& lease = taking.answer().lease();
        const int exit_code = work(*command, lease);
        if (!lease.release() && exit_code != exit_lost)
            screen_.note("the server could not be told that the lease is over; it ends by itself");
        return exit_code;
    }

 private:
    int complain(const Error& error, int exit_code) const {
        screen_.complain(error);
        return exit_code;
    }

    void await(Taking& taking, GuardedCommand& command) {
        for (;;) {
            pollfd waiting[]{{taking.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
            ::poll(waiting, 2, -1);
            if (waiting[0].revents != 0) return;
            const auto signal = signals_.take();
            if (!signal || !is_for_the_command(*signal) || *signal == SIGWINCH || *signal == SIGCONT) continue;
            if (*signal == SIGTSTP)
                ::raise(SIGSTOP);
            else
                give_up(taking, command, *signal);
        }
    }

    [[noreturn]] void give_up(Taking& taking, GuardedCommand& command, int signal) const {
        command.destroy();
        if (taking.wait(last_answer) && taking.answer()) taking.answer().lease().release();
        std::_Exit(128 + signal);  // the wait itself cannot be ended; the server sees the connection close
    }

    int work(GuardedCommand& command, Lease& lease) {
        Terminal terminal;
        const bool foreground = terminal.is_interactive();
        const auto started = command.start({deadlines_of(lease), foreground, environment_of(lease)});
        if (!started) return complain(started.error(), exit_cannot_run);
        keep_told(command, lease);
        const auto ending = Supervisor{{command, signals_, terminal, foreground}}.run();
        if (const auto* cannot = std::get_if<CannotRunReport>(&ending)) return cannot_run(cannot->error);
        return ended(std::get<EndedReport>(ending));
    }

    /// Every renewal moves the guardian's deadlines; a loss ends the work at once.
    void keep_told(GuardedCommand& command, Lease& lease) {
        const auto tell = [this, &command, &lease] {
            const std::lock_guard in_order{telling_};
            command.renewed(deadlines_of(lease));
        };
        lease.on_change([this, tell](Outcome outcome) {
            if (outcome == Outcome::granted) return tell();
            screen_.note("a renewal failed; trying again until the lease runs out");
        });
        lease.on_lost([this, &command](const Failure& failure) {
            // The server lets these run out on their timeline (R7), so the command keeps its time to finish.
            const bool runs_out = failure.code == "renewal_barred" || failure.code == "banned";
            const std::string what = runs_out ? "the lease cannot be renewed: " : "the lease is lost: ";
            screen_.complain({failure.code, what + failure.message});
            if (runs_out) return;
            lost_ = true;
            command.lost();
        });
        tell();  // what changed before anyone listened
    }

    static WorkDeadlines deadlines_of(const Lease& lease) {
        const HolderInstant now = holder_clock_now();  // read first: rather early than late (T3)
        const Remaining left = lease.timeline();
        return {now + left.soft, now + left.hard};
    }

    static std::vector<std::string> environment_of(const Lease& lease) {
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

    int cannot_run(int error) const {
        const std::string message = "cannot run '" + arguments_.take.command[0] + "': " + std::strerror(error);
        return complain({"cannot_run", message}, error == ENOENT ? exit_not_found : exit_cannot_run);
    }

    int ended(const EndedReport& report) const {
        if (report.forced || lost_)
            return complain({"lost", "the command was stopped, because its lease could not be kept"}, exit_lost);
        if (report.left_behind > 0)
            screen_.note(std::to_string(report.left_behind) +
                         " process(es) left the command's group and go on without the lease");
        return WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status);
    }

    const Arguments& arguments_;
    const Screen screen_;
    SignalInbox signals_;
    std::mutex telling_;
    std::atomic<bool> lost_ = false;
};

}  // namespace

int run_command(const Arguments& arguments) {
    return Run{arguments}.run();
}

}  // namespace holdfast
