#include "keys/drone/backend_processes.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <sys/wait.h>

#include "keys/drone/addresses.h"
#include "keys/drone/backend_record.h"
#include "supervise/cgroup.h"
#include "supervise/processes.h"

namespace holdfast::keys::drone {
namespace {

/// A guardian that has not reported this long after everything was killed must be suspended, and is killed as well.
constexpr Duration guardian_patience = 1s;
constexpr std::size_t starters = 4;

std::vector<std::string> command_of(const SpawnOrder& order) {
    std::vector<std::string> command{order.spawn.command};
    command.insert(command.end(), order.spawn.args.begin(), order.spawn.args.end());
    return command;
}

/// The drone's variables come last, so that an order cannot override them.
std::vector<std::string> environment_of(const SpawnOrder& order, const std::string& host, std::uint16_t port) {
    std::vector<std::string> environment;
    for (const auto& [name, value] : order.spawn.env)
        environment.push_back(fmt::format("{}={}", name, value));
    environment.push_back("HOLDFAST_KEY=" + order.key.name);
    environment.push_back("HOLDFAST_KEY_NAMESPACE=" + order.key.name_space);
    environment.push_back(std::string(backend_variable) + order.backend);
    environment.push_back("HOLDFAST_FENCING_TOKEN=" + std::to_string(order.token));
    environment.push_back("HOST=" + host);
    environment.push_back("PORT=" + std::to_string(port));
    return environment;
}

int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Ending ending_of(const supervise::EndedReport& report) {
    return {.exit_code = exit_code_of(report.status), .forced = report.forced};
}

}  // namespace

BackendProcesses::BackendProcesses(Setting setting) : setting_(std::move(setting)), starters_(starters), writer_(1) {}

BackendProcesses::~BackendProcesses() {
    std::promise<void> written;
    if (writer_.submit([&written] { written.set_value(); })) written.get_future().wait();
}

Result<std::uint16_t> BackendProcesses::port_for(const SpawnOrder& order) const {
    std::set<std::uint16_t> taken;
    for (const auto& [id, one] : ones_)
        taken.insert(one->port);
    if (const auto port = order.spawn.port) {
        if (!taken.contains(*port)) return *port;
        return Error{Code::port_in_use, fmt::format("another backend of this drone has port {}", *port)};
    }
    if (const auto port = free_port(taken)) return *port;
    return Error{Code::no_port, "there is no free port"};
}

void BackendProcesses::launch(const Launch& launch) {
    const SpawnOrder& order = launch.order;
    const auto port = port_for(order);
    if (!port) return say(order.backend, NotStarted{port.error().message});
    auto one = std::make_unique<One>(One{.order = order, .deadlines = launch.deadlines, .port = *port});
    if (setting_.cgroup) one->cgroup = *setting_.cgroup + "/holdfast-" + setting_.drone + "-" + order.backend;
    const Preparation preparation{order, one->cgroup};
    ones_[order.backend] = std::move(one);
    const bool begun = starters_.submit([this, preparation] {
        const Prepared prepared = prepare(preparation);
        setting_.tasks.put([this, prepared, id = preparation.order.backend] { start(id, prepared); });
    });
    if (!begun) over(order.backend, {order.backend, NotStarted{"no thread could be started for it"}});
}

/// Creates the guardian and writes its record before any command runs: whatever happens afterwards, the next
/// incarnation finds it.
BackendProcesses::Prepared BackendProcesses::prepare(const Preparation& preparation) {
    const auto failed = [](Error error) {
        return std::make_shared<Result<supervise::GuardedCommand>>(std::move(error));
    };
    const SpawnOrder& order = preparation.order;
    std::error_code unknown;
    if (const auto& cwd = order.spawn.cwd; cwd && !std::filesystem::is_directory(*cwd, unknown))
        return failed({Code::cannot_run, "there is no directory " + *cwd});
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return failed({Code::cannot_run, std::string("no pipe: ") + std::strerror(errno)});
    Fd reading{ends[0]};
    const Fd writing{ends[1]};
    std::unique_lock lock{guardians_mutex_};
    auto command = supervise::GuardedCommand::prepare(
        {.command = command_of(order), .mask = setting_.mask, .alone = false, .output = writing.get()});
    if (!command) return failed(command.error());
    const pid_t guardian = command->guardian();
    guardians_.insert(guardian);
    lock.unlock();
    const auto written = setting_.records.write({.backend = order.backend,
                                                 .boot = boot_id(),
                                                 .guardian = guardian,
                                                 .guardian_start = supervise::start_time_of(guardian).value_or(0),
                                                 .cgroup = preparation.cgroup});
    if (!written) {
        forget_guardian(guardian);
        return failed(written.error());
    }
    setting_.logs.add(order.backend, std::move(reading));
    return std::make_shared<Result<supervise::GuardedCommand>>(std::move(*command));
}

void BackendProcesses::start(const std::string& backend, const Prepared& prepared) {
    One& one = *ones_.at(backend);
    if (!*prepared) return over(backend, {backend, NotStarted{prepared->error().message}});
    one.guardian = (*prepared)->guardian();
    if (one.stop_by) return over(backend, {backend, NotStarted{"it was to stop before it ran"}});
    one.command.emplace(std::move(**prepared));
    supervise::StartOrder order{one.deadlines, false, environment_of(one.order, setting_.host, one.port)};
    order.whole = true;
    order.session = true;
    order.directory = one.order.spawn.cwd.value_or("");
    order.cgroup = one.cgroup;
    const auto started = one.command->start(order);
    if (!started) return over(backend, {backend, NotStarted{started.error().message}});
    say(backend, Starting{one.port});
}

void BackendProcesses::move_deadlines(const std::string& backend, supervise::WorkDeadlines deadlines) {
    const auto found = ones_.find(backend);
    if (found == ones_.end()) return;
    One& one = *found->second;
    one.deadlines = deadlines;
    if (one.command) one.command->renewed(deadlines);
}

void BackendProcesses::stop(const std::string& backend, HolderInstant kill_at) {
    const auto found = ones_.find(backend);
    if (found == ones_.end()) return;
    found->second->stop_by = kill_at;
    found->second->stop_told = false;
    tell(*found->second);
}

void BackendProcesses::tell(One& one) {
    if (one.command && one.stop_by && !one.stop_told) one.stop_told = one.command->stop(*one.stop_by);
}

std::vector<BackendProcesses::Event> BackendProcesses::attend(HolderInstant now) {
    std::vector<std::string> attended;
    for (const auto& [id, one] : ones_)
        if (one->command) attended.push_back(id);
    for (const std::string& id : attended)
        hear(id, *ones_.at(id), now);
    finish_abandoned();
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return std::exchange(events_, {});
}

void BackendProcesses::hear(const std::string& backend, One& one, HolderInstant now) {
    while (!one.abandoned) {
        const supervise::GuardedCommand::Heard heard = one.command->hear();
        if (heard.guardian_gone) one.abandoned = true;
        if (!heard.report) break;
        if (std::holds_alternative<supervise::StartedReport>(*heard.report)) {
            say(backend, Running{});
            record_group(backend, one);
        } else if (const auto* ended = std::get_if<supervise::EndedReport>(&*heard.report)) {
            return over(backend, {backend, ending_of(*ended)});
        } else if (const auto* cannot = std::get_if<supervise::CannotRunReport>(&*heard.report)) {
            return over(backend, {backend, NotStarted{fmt::format("cannot run '{}': {}", one.order.spawn.command,
                                                                  std::strerror(cannot->error))}});
        }
    }
    tell(one);
    stand_in(one, now);
}

void BackendProcesses::record_group(const std::string& backend, const One& one) {
    const BackendRecord record{.backend = backend,
                               .boot = boot_id(),
                               .guardian = one.guardian,
                               .guardian_start = supervise::start_time_of(one.guardian).value_or(0),
                               .group = one.command->group(),
                               .cgroup = one.cgroup};
    writer_.submit([this, record] { (void)setting_.records.write(record); });
}

/// The guardian kills at the hard deadline. It cannot if it is suspended, so this process kills as well.
void BackendProcesses::stand_in(One& one, HolderInstant now) {
    if (one.abandoned || now < one.command->hard()) return;
    if (!one.killed_at) one.killed_at = now;
    supervise::Cgroup{one.cgroup}.kill();
    one.command->kill_command();
    if (now >= *one.killed_at + guardian_patience) one.abandoned = true;
}

/// Without its guardian, a backend's processes are descendants of this process with no guardian in between.
void BackendProcesses::finish_abandoned() {
    std::vector<std::string> abandoned;
    for (const auto& [id, one] : ones_)
        if (one->abandoned) abandoned.push_back(id);
    if (abandoned.empty()) return;
    std::vector<std::string> dead;
    for (const std::string& id : abandoned) {
        One& one = *ones_.at(id);
        const supervise::Cgroup cgroup{one.cgroup};
        cgroup.kill();
        if (one.command->destroyed() && cgroup.is_empty()) dead.push_back(id);
        forget_guardian(one.guardian);
    }
    if (kill_orphans()) return;
    for (const std::string& id : dead) {
        supervise::Cgroup{ones_.at(id)->cgroup}.remove();
        over(id, {id, Ending{.exit_code = 128 + SIGKILL, .forced = true}});
    }
}

/// Returns true if there were any. Every child of this process is a guardian or the orphan of a dead one.
bool BackendProcesses::kill_orphans() {
    const std::lock_guard lock{guardians_mutex_};
    const std::vector<pid_t> known{guardians_.begin(), guardians_.end()};
    const std::vector<pid_t> orphans = supervise::ProcessTable::read().living_below(getpid(), known);
    for (const pid_t process : orphans)
        ::kill(process, SIGKILL);
    return !orphans.empty();
}

void BackendProcesses::forget_guardian(pid_t guardian) {
    const std::lock_guard lock{guardians_mutex_};
    guardians_.erase(guardian);
}

void BackendProcesses::over(const std::string& backend, Event event) {
    forget_guardian(ones_.at(backend)->guardian);
    ones_.erase(backend);
    writer_.submit([this, backend] { setting_.records.remove(backend); });
    events_.push_back(std::move(event));
}

void BackendProcesses::say(const std::string& backend, std::variant<Starting, Running, NotStarted, Ending> what) {
    events_.push_back({backend, std::move(what)});
}

std::vector<int> BackendProcesses::fds() const {
    std::vector<int> all;
    for (const auto& [id, one] : ones_)
        if (one->command && !one->abandoned) all.push_back(one->command->fd());
    return all;
}

bool BackendProcesses::is_restless() const {
    return !events_.empty() || std::any_of(ones_.begin(), ones_.end(), [](const auto& entry) {
        return entry.second->abandoned || entry.second->killed_at.has_value() ||
               (entry.second->stop_by && !entry.second->stop_told && entry.second->command);
    });
}

}  // namespace holdfast::keys::drone
