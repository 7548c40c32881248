#include "supervise/guarded_command.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "supervise/guardian.h"
#include "supervise/processes.h"

extern char** environ;

namespace holdfast::supervise {
namespace {

/// The longest that a second guardian needs to kill everything, unless it is stopped.
constexpr Duration second_guardian_patience = 500ms;

Error failed(const std::string& what, int error) {
    return {Code::cannot_run, what + ": " + std::strerror(error)};
}

/// posix_spawn, because other threads may run by now: nothing of this program executes between fork and exec.
Result<pid_t> spawn_guardian(const GuardedCommand::Options& options, int socket) {
    std::vector<std::string> arguments{"holdfast", guardian_command, std::to_string(socket)};
    arguments.insert(arguments.end(), options.command.begin(), options.command.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, socket);  // onto itself, so that it survives exec
    if (options.output >= 0) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, options.output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, options.output, STDERR_FILENO);
    }
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &options.mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t guardian = 0;
    const int error = posix_spawn(&guardian, options.guardian.c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return failed("cannot start the guardian", error);
    return guardian;
}

}  // namespace

Result<GuardedCommand> GuardedCommand::prepare(const Options& options) {
    HOLDFAST_ASSERT(!options.command.empty());
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would discard exit statuses

    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed("cannot make a socket", errno);
    Fd ours{ends[0]};
    const Fd theirs{ends[1]};
    const auto guardian = spawn_guardian(options, theirs.get());
    if (!guardian) return guardian.error();
    return GuardedCommand{*guardian, std::move(ours), options.alone};
}

GuardedCommand::GuardedCommand(pid_t guardian, Fd socket, bool alone)
    : guardian_(guardian), guardian_socket_(std::move(socket)), alone_(alone) {
    if (!alone_) return;
    for (const Process& child : ProcessTable::read().children_of(getpid()))
        if (child.id != guardian_) strangers_.push_back(child.id);
}

GuardedCommand::GuardedCommand(GuardedCommand&& other) noexcept
    : guardian_(std::exchange(other.guardian_, 0)),
      first_(std::exchange(other.first_, 0)),
      group_(std::exchange(other.group_, 0)),
      guardian_socket_(std::move(other.guardian_socket_)),
      alone_(other.alone_),
      destroying_since_(other.destroying_since_),
      strangers_(std::move(other.strangers_)),
      family_(std::move(other.family_)),
      hard_(other.hard_.load()) {}

GuardedCommand::~GuardedCommand() {
    destroy();
}

Result<void> GuardedCommand::start(const StartOrder& order) {
    hard_ = order.deadlines.hard.time_since_epoch().count();
    const std::string bytes = encode(Order{order});
    if (bytes.size() > max_message_bytes) return failed("cannot run the command", E2BIG);
    if (!send_message(guardian_socket_.get(), bytes, true)) return failed("cannot talk to the guardian", errno);
    return {};
}

void GuardedCommand::renewed(WorkDeadlines deadlines) {
    if (!send_message(guardian_socket_.get(), encode(Order{RenewedOrder{deadlines}}), false)) return;
    hard_ = deadlines.hard.time_since_epoch().count();
}

void GuardedCommand::lost() {
    (void)send_message(guardian_socket_.get(), encode(Order{LostOrder{}}), false);
}

bool GuardedCommand::stop(HolderInstant kill_at) {
    if (!send_message(guardian_socket_.get(), encode(Order{StopOrder{kill_at}}), false)) return false;
    hard_ = std::min<std::int64_t>(hard_, kill_at.time_since_epoch().count());
    return true;
}

GuardedCommand::Heard GuardedCommand::hear() {
    const auto bytes = receive_message(guardian_socket_.get());
    if (!bytes) return {};
    const auto report = decode_report(*bytes);
    if (!report) return {.guardian_gone = true, .report = {}};
    if (const auto* started = std::get_if<StartedReport>(&*report)) {
        group_ = started->group;
        first_ = started->guardian;
    }
    const bool over = std::holds_alternative<EndedReport>(*report) || std::holds_alternative<CannotRunReport>(*report);
    if (over) guardian_ = first_ = group_ = 0;  // nothing is left to kill; a daemon that left the group is not ours
    return {.guardian_gone = false, .report = report};
}

void GuardedCommand::signal(int signal) {
    if (group_ != 0) ::kill(-group_, signal);
}

/// Through the guardian, so that it does not ask the same processes again. If the order cannot be sent, the guardian is
/// stopped or gone.
void GuardedCommand::ask_to_end(int signal) {
    if (group_ == 0) return;
    if (!send_message(guardian_socket_.get(), encode(Order{SignalOrder{signal}}), false)) this->signal(signal);
}

void GuardedCommand::kill_command() {
    if (guardian_ == 0) return;
    signal(SIGKILL);
    family_ = living_below_guardians();
    for (const pid_t process : family_)
        ::kill(process, SIGKILL);
}

/// All but the guardian itself. If the second guardian was killed, the first is a child of this process.
std::vector<pid_t> GuardedCommand::living_below_guardians() const {
    const ProcessTable table = ProcessTable::read();
    std::vector<pid_t> found;
    if (guardian_is_ours()) found = table.living_below(guardian_);
    for (const Process& child : table.children_of(getpid()))
        if (child.id == first_) found = table.living_below(first_);
    std::erase(found, first_);
    return found;
}

/// A process that runs several commands reaps all children at once. After that, the id may belong to an unrelated
/// process.
bool GuardedCommand::guardian_is_ours() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(guardian_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void GuardedCommand::destroy() {
    while (!destroyed())
        ::poll(nullptr, 0, 5);
}

bool GuardedCommand::destroyed() {
    if (guardian_ == 0) return true;
    const HolderInstant now = holder_clock_now();
    if (!destroying_since_) {
        destroying_since_ = now;
        kill_command();
        ::shutdown(guardian_socket_.get(), SHUT_RDWR);  // not closed, since another thread may be about to use it
    }
    // The second guardian kills everything below it once the first is dead. Processes that it misses are below this
    // process. New ones may be forked while we kill.
    const bool second_has_time = now < *destroying_since_ + second_guardian_patience;
    reap();
    const auto remaining = living();
    for (const pid_t process : remaining)
        if (process != guardian_ || !second_has_time) ::kill(process, SIGKILL);
    if (!remaining.empty()) return false;
    guardian_ = first_ = group_ = 0;
    return true;
}

void GuardedCommand::reap() {
    while (waitpid(guardian_, nullptr, WNOHANG) > 0 || (first_ != 0 && waitpid(first_, nullptr, WNOHANG) > 0) ||
           (group_ != 0 && waitpid(-group_, nullptr, WNOHANG) > 0)) {
    }
}

/// The remaining processes of the command. If other commands run, only its group and the processes seen below its
/// guardians are known to belong to it.
std::vector<pid_t> GuardedCommand::living() const {
    const ProcessTable table = ProcessTable::read();
    if (alone_) return table.living_below(getpid(), strangers_);
    std::vector<pid_t> left;
    for (const pid_t process : table.living_below(getpid()))
        if (process == guardian_ || process == first_ || getpgid(process) == group_ ||
            std::find(family_.begin(), family_.end(), process) != family_.end())
            left.push_back(process);
    return left;
}

}  // namespace holdfast::supervise
