#include "cli/own_polls.h"

#include <sys/wait.h>

#include "base/clock.h"

namespace holdfast {
namespace {

/// A guardian that has not reported this long after everything was killed is stopped, and is killed too.
constexpr Duration guardian_patience = 1s;
/// What moves less is not worth a message.
constexpr Duration worth_telling = 1ms;

}  // namespace

/// Asked to stop a third of the TTL before the end, dead a twelfth before it (T4).
WorkDeadlines OwnPolls::deadlines(HolderInstant end) const {
    return {end - setting_.ttl / 3, end - setting_.ttl / 12};
}

std::vector<std::string> OwnPolls::command_for(const std::string& session) const {
    std::vector<std::string> command = setting_.command;
    for (std::string& word : command)
        for (std::size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at + session.size()))
            word.replace(at, 2, session);
    return command;
}

Result<void> OwnPolls::start(const std::string& session, Poll poll) {
    const HolderInstant now = holder_clock_now();  // read first: rather early than late (T3)
    const HolderInstant end = now + poll.remaining();
    if (now >= deadlines(end).soft) return {};
    auto command = GuardedCommand::prepare({.command = command_for(session), .mask = setting_.mask, .alone = false});
    if (!command) return command.error();
    const std::vector<std::string> environment{"HOLDFAST_SESSION=" + session, "HOLDFAST_INSTANCE=" + setting_.instance};
    StartOrder order{deadlines(end), false, environment};
    order.whole = !setting_.leave_daemons;
    if (const auto started = command->start(order); !started) return started.error();
    polls_.emplace(session, std::make_unique<One>(One{std::move(poll), std::move(*command), end}));
    return {};
}

std::vector<OwnPolls::Ended> OwnPolls::attend() {
    std::vector<Ended> ended;
    for (auto at = polls_.begin(); at != polls_.end();) {
        auto end = hear(at->first, *at->second);
        if (!end) {
            move_deadlines(*at->second);
            end = stand_in(at->first, *at->second);
        }
        if (end) ended.push_back(std::move(*end));
        at = end ? polls_.erase(at) : std::next(at);
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return ended;
}

std::optional<OwnPolls::Ended> OwnPolls::hear(const std::string& session, One& one) {
    for (;;) {
        const GuardedCommand::Heard heard = one.command.hear();
        if (heard.guardian_gone) {
            one.command.destroy();
            return Ended{.session = session, .status = SIGKILL, .forced = true};
        }
        if (!heard.report) return std::nullopt;
        if (const auto* ended = std::get_if<EndedReport>(&*heard.report))
            return Ended{.session = session, .status = ended->status, .forced = ended->forced};
        if (const auto* cannot = std::get_if<CannotRunReport>(&*heard.report))
            return Ended{.session = session, .cannot_run = cannot->error};
    }
}

void OwnPolls::move_deadlines(One& one) const {
    const HolderInstant now = holder_clock_now();
    const HolderInstant end = now + one.poll.remaining();
    if (!one.poll.held()) {
        if (!std::exchange(one.lost_told, true)) one.command.lost();
    } else if (end > one.end + worth_telling) {
        one.end = end;
        one.command.renewed(deadlines(end));
    }
}

/// The guardian kills at the hard deadline. If it is stopped it cannot, so this process does so as well.
std::optional<OwnPolls::Ended> OwnPolls::stand_in(const std::string& session, One& one) {
    const HolderInstant now = holder_clock_now();
    if (now < one.command.hard()) return std::nullopt;
    if (!one.killed_at) {
        one.killed_at = now;
        one.command.kill_command();
    }
    if (now < *one.killed_at + guardian_patience) return std::nullopt;
    one.command.destroy();
    return Ended{.session = session, .status = SIGKILL, .forced = true};
}

std::vector<int> OwnPolls::fds() const {
    std::vector<int> all;
    for (const auto& [session, one] : polls_)
        all.push_back(one->command.fd());
    return all;
}

void OwnPolls::ask_to_stop() {
    for (const auto& [session, one] : polls_)
        one->command.ask_to_end(SIGTERM);
}

void OwnPolls::kill() {
    for (const auto& [session, one] : polls_)
        one->command.kill_command();
}

}  // namespace holdfast
