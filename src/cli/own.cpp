#include <holdfast/lease_manager.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/poll.h>
#include <sys/wait.h>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/inbox.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"
#include "cli/session_file.h"
#include "supervise/guarded_command.h"
#include "supervise/signals.h"

namespace holdfast::cli {
namespace {

/// A guardian that has not reported this long after everything was killed is taken to be stopped, and is killed too.
constexpr Duration guardian_patience = 1s;
/// A deadline that moved by less is not sent.
constexpr Duration min_move = 1ms;
/// The limit on one sleep: deadlines move while this thread waits.
constexpr Duration max_turn = 200ms;
/// On a stop, the time between asking polls to stop and killing them.
constexpr Duration kill_after = 10s;

/// The polls in progress: each command runs under its own guardian, which ends it before another instance can own its
/// session, even if this process is stopped or killed (T3).
class OwnPolls {
 public:
    struct Setting {
        std::vector<std::string> command;  ///< `{}` stands for the session
        std::string instance;
        sigset_t mask{};
        Duration ttl{};
        bool leave_daemons = false;  ///< processes that left a poll's group keep running after the poll has ended
    };
    struct Ended {
        std::string session;
        int status = 0;       ///< as waitpid() gives it
        bool forced = false;  ///< it was stopped, because its session was lost
        int cannot_run = 0;   ///< errno, if it could not be run
    };

    explicit OwnPolls(Setting setting) : setting_(std::move(setting)) {}

    std::size_t size() const { return polls_.size(); }
    bool has(const std::string& session) const { return polls_.contains(session); }

    /// Starts nothing if no time is left.
    Result<void> start(const std::string& session, Poll poll);
    /// Reads the guardians' reports, sends them deadlines that have moved, and returns the polls that have ended.
    std::vector<Ended> attend();
    /// Readable when a guardian has a report.
    std::vector<int> fds() const;

    void ask_to_stop();
    void kill();

 private:
    struct One {
        Poll poll;
        supervise::GuardedCommand command;
        HolderInstant end{};  ///< end of ownership, as last sent to the guardian
        bool loss_sent = false;
        std::optional<HolderInstant> killed_at{};
    };

    std::optional<Ended> hear(const std::string& session, One& one);
    void move_deadlines(One& one) const;
    std::optional<Ended> stand_in(const std::string& session, One& one);
    supervise::WorkDeadlines deadlines(HolderInstant end) const;

    const Setting setting_;
    std::map<std::string, std::unique_ptr<One>> polls_;
};

/// A poll is asked to stop a third of the TTL before the end, and must be dead a twelfth before it (T4).
supervise::WorkDeadlines OwnPolls::deadlines(HolderInstant end) const {
    return {end - setting_.ttl / 3, end - setting_.ttl / 12};
}

Result<void> OwnPolls::start(const std::string& session, Poll poll) {
    const HolderInstant now = holder_clock_now();  // read first: errs on the early side (T3)
    const HolderInstant end = now + poll.remaining();
    if (now >= deadlines(end).soft) return {};
    auto command = supervise::GuardedCommand::prepare(
        {.command = with_value(setting_.command, session), .mask = setting_.mask, .alone = false});
    if (!command) return command.error();
    const std::vector<std::string> environment{"HOLDFAST_SESSION=" + session, "HOLDFAST_INSTANCE=" + setting_.instance};
    supervise::StartOrder order{deadlines(end), false, environment};
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
        const supervise::GuardedCommand::Heard heard = one.command.hear();
        if (heard.guardian_gone) {
            one.command.destroy();
            return Ended{.session = session, .status = SIGKILL, .forced = true};
        }
        if (!heard.report) return std::nullopt;
        if (const auto* ended = std::get_if<supervise::EndedReport>(&*heard.report))
            return Ended{.session = session, .status = ended->status, .forced = ended->forced};
        if (const auto* cannot = std::get_if<supervise::CannotRunReport>(&*heard.report))
            return Ended{.session = session, .cannot_run = cannot->error};
    }
}

void OwnPolls::move_deadlines(One& one) const {
    const HolderInstant now = holder_clock_now();
    const HolderInstant end = now + one.poll.remaining();
    if (!one.poll.held()) {
        if (!std::exchange(one.loss_sent, true)) one.command.lost();
    } else if (end > one.end + min_move) {
        one.end = end;
        one.command.renewed(deadlines(end));
    }
}

/// The guardian kills at the hard deadline. A stopped guardian cannot, so this process kills as well.
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

std::chrono::milliseconds ms(Duration duration) {
    return std::chrono::ceil<std::chrono::milliseconds>(duration);
}

OwnershipTimings timings_of(const OwnOptions& own) {
    OwnershipTimings timings;
    timings.lease_ttl = ms(own.ttl);
    timings.node_ttl = ms(own.node_ttl.value_or(own.ttl));
    timings.renew_every = ms(own.renew_every.value_or(own.ttl / 3));
    timings.heartbeat_every = ms(own.heartbeat_every.value_or(own.node_ttl.value_or(own.ttl) / 3));
    timings.refresh_every = ms(own.refresh_every.value_or(own.node_ttl.value_or(own.ttl) / 3));
    timings.try_every = std::clamp<std::chrono::milliseconds>(ms(own.ttl / 30), 50ms, 1s);
    timings.timeout = std::clamp<std::chrono::milliseconds>(ms(own.ttl / 10), 500ms, 3s);
    if (own.restart_wait) timings.restart_wait = ms(*own.restart_wait);
    return timings;
}

/// A notification of the manager's threads, for the main thread to print: a change, or trouble with the store or its
/// end.
using News = std::variant<OwnershipChange, std::optional<Failure>>;

/// One `holdfast own`.
class Own {
 public:
    explicit Own(const Arguments& arguments)
        : options_(arguments.own),
          screen_(arguments.common),
          file_(options_.sessions),
          signals_({SIGTERM, SIGINT, SIGHUP, SIGPIPE}),
          manager_({.redis = options_.redis,
                    .timings = timings_of(options_),
                    .hash = options_.hash == "fnv1a" ? PreferenceHash::fnv1a : PreferenceHash::xxh64,
                    .any_session_id = options_.any_id,
                    .on_change = [this](const OwnershipChange& change) { news_.put(change); },
                    .on_connection = [this](const std::optional<Failure>& trouble) { news_.put(trouble); }}),
          polls_({.command = options_.command,
                  .instance = manager_.instance_id(),
                  .mask = signals_.mask_before(),
                  .ttl = options_.ttl,
                  .leave_daemons = options_.leave_daemons}) {}

    int run() {
        file_.remember();
        const auto sessions = read_sessions(options_.sessions, options_.any_id);
        if (!sessions) return complain(sessions.error(), exit_usage);
        // A command must not wait for input, and must not consume the list of sessions.
        const Fd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        ::dup2(nothing.get(), STDIN_FILENO);
        auto problem = manager_.start();
        if (!problem) problem = manager_.add(*sessions);
        if (problem) return complain({ErrorCode::named(problem->code), problem->message}, exit_usage);
        for (const std::string& session : *sessions)
            next_poll_[session] = holder_clock_now();
        show_started(sessions->size());
        while (!finished()) {
            turn();
            wait();
        }
        if (!manager_.stop(0ms))
            screen_.note("could not release the sessions, because the store did not answer; they expire by themselves");
        report();
        return exit_code_;
    }

 private:
    int complain(const Error& error, int exit_code) const {
        screen_.complain(error);
        return exit_code;
    }

    void show_started(std::size_t sessions) const {
        if (screen_.json())
            show("started", {{"sessions", sessions}});
        else
            screen_.note(fmt::format("instance {} looks after {} session(s)", manager_.instance_id(), sessions));
    }

    bool finished() const { return stopping_since_ && polls_.size() == 0; }

    void turn() {
        while (const auto signal = signals_.take())
            on_signal(*signal);
        if (!stopping_since_ && file_.has_changed(holder_clock_now())) read_again();
        report();
        for (const auto& ended : polls_.attend())
            on_ended(ended);
        if (stopping_since_)
            end_polls();
        else
            begin_due();
    }

    void on_signal(int signal) {
        if (signal == SIGPIPE) return;
        if (signal == SIGHUP && file_ && !stopping_since_) return read_again();
        stop();
    }

    /// An unreadable list changes nothing.
    void read_again() {
        file_.remember();
        const auto sessions = read_sessions(options_.sessions, options_.any_id);
        if (!sessions) {
            screen_.complain("the list of sessions was not read again: " + sessions.error().message);
            return;
        }
        const std::set<std::string> wanted{sessions->begin(), sessions->end()};
        std::vector<std::string> added;
        for (const std::string& session : wanted)
            if (!next_poll_.contains(session)) added.push_back(session);
        std::vector<std::string> removed;
        for (const auto& [session, at] : next_poll_)
            if (!wanted.contains(session)) removed.push_back(session);
        for (const std::string& session : removed) {
            next_poll_.erase(session);
            manager_.release(session);  // once its poll in progress has ended
        }
        if (const auto problem = manager_.add(added)) screen_.complain(problem->message);
        for (const std::string& session : added)
            next_poll_[session] = holder_clock_now();
        show_read_again(added.size(), removed.size());
    }

    void show_read_again(std::size_t added, std::size_t removed) const {
        if (screen_.json())
            show("sessions", {{"sessions", next_poll_.size()}, {"added", added}, {"removed", removed}});
        else
            screen_.note(
                fmt::format("looks after {} session(s): {} added, {} removed", next_poll_.size(), added, removed));
    }

    /// Every event carries its time and instance.
    void show(std::string_view event, const std::vector<JsonValue::Member>& more,
              std::int64_t at_ms = wall_clock_ms()) const {
        auto all = JsonValue::object(
            {{"event", event}, {"at", format_wall_time(at_ms)}, {"instance", manager_.instance_id()}});
        all.members.insert(all.members.end(), more.begin(), more.end());
        screen_.show(all);
    }

    /// The first signal lets polls finish, the second one asks them to stop at once, the third one kills them.
    void stop() {
        if (asked_at_) killed_ = true;
        if (stopping_since_) hurried_ = true;
        if (!stopping_since_) {
            stopping_since_ = holder_clock_now();
            manager_.retire();
            screen_.note(fmt::format("stopping: waiting for {} poll(s) to finish", polls_.size()));
        }
    }

    void end_polls() {
        const HolderInstant now = holder_clock_now();
        if (!asked_at_ && (hurried_ || now >= *stopping_since_ + options_.grace)) {
            asked_at_ = now;
            polls_.ask_to_stop();
            screen_.note(fmt::format("asking {} poll(s) to stop", polls_.size()));
        }
        if (asked_at_ && (killed_ || now >= *asked_at_ + kill_after)) polls_.kill();
    }

    void begin_due() {
        const HolderInstant now = holder_clock_now();
        std::vector<std::pair<HolderInstant, std::string>> due;
        for (const auto& [session, at] : next_poll_)
            if (at <= now && manager_.is_owned(session) && !polls_.has(session)) due.emplace_back(at, session);
        std::sort(due.begin(), due.end());  // the longest wait first
        for (const auto& [at, session] : due) {
            if (polls_.size() >= options_.jobs || stopping_since_) return;
            begin(session);
        }
    }

    void begin(const std::string& session) {
        Poll poll = manager_.begin_poll(session);
        if (!poll) return;
        next_poll_[session] = holder_clock_now() + options_.interval;
        const auto started = polls_.start(session, std::move(poll));
        if (!started) screen_.complain(fmt::format("cannot poll {}: {}", session, started.error().message));
    }

    void on_ended(const OwnPolls::Ended& ended) {
        if (ended.cannot_run != 0) return cannot_run(ended.cannot_run);
        const bool exited = WIFEXITED(ended.status);
        if (screen_.json()) {
            show("poll",
                 {{"session", ended.session},
                  {"forced", ended.forced},
                  {exited ? "exit_code" : "signal", exited ? WEXITSTATUS(ended.status) : WTERMSIG(ended.status)}});
        } else if (ended.forced) {
            screen_.note(
                fmt::format("the poll of {} was stopped, because the session could not be kept", ended.session));
        } else if (ended.status != 0) {
            screen_.note(fmt::format("the poll of {} ended with {} {}", ended.session, exited ? "exit code" : "signal",
                                     exited ? WEXITSTATUS(ended.status) : WTERMSIG(ended.status)));
        }
    }

    /// A retry would not help.
    void cannot_run(int error) {
        if (exit_code_ != exit_ok) return;
        exit_code_ = error == ENOENT ? exit_not_found : exit_cannot_run;
        screen_.complain(
            {Code::cannot_run, fmt::format("cannot run '{}': {}", options_.command[0], std::strerror(error))});
        stop();
    }

    void report() {
        for (const News& news : news_.take())
            std::visit([this](const auto& one) { tell(one); }, news);
    }

    void tell(const std::optional<Failure>& trouble) const {
        screen_.note(trouble ? trouble->message : "the store answers again");
    }

    void tell(const OwnershipChange& change) {
        if (!screen_.json()) return;
        show("ownership",
             {{"session", change.session},
              {"from", to_string(change.from)},
              {"to", to_string(change.to)},
              {"owner", JsonValue::text_or_null(change.owner)}},
             std::chrono::duration_cast<std::chrono::milliseconds>(change.at.time_since_epoch()).count());
    }

    void wait() const {
        const HolderInstant now = holder_clock_now();
        HolderInstant until = now + max_turn;
        if (!stopping_since_ && polls_.size() < options_.jobs)
            for (const auto& [session, at] : next_poll_)
                if (at > now && at < until) until = at;
        std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}, {news_.fd(), POLLIN, 0}};
        for (const int fd : polls_.fds())
            watched.push_back({fd, POLLIN, 0});
        if (finished()) return;
        ::poll(watched.data(), watched.size(), static_cast<int>(to_ms_up(until - now)));
    }

    const OwnOptions& options_;
    const Screen screen_;
    SessionFile file_;
    supervise::SignalInbox signals_;
    Inbox<News> news_;
    LeaseManager manager_;
    OwnPolls polls_;
    std::map<std::string, HolderInstant> next_poll_;
    std::optional<HolderInstant> stopping_since_;
    std::optional<HolderInstant> asked_at_;
    bool hurried_ = false;
    bool killed_ = false;
    int exit_code_ = exit_ok;
};

}  // namespace

int own_command(const Arguments& arguments) {
    return Own{arguments}.run();
}

}  // namespace holdfast::cli
