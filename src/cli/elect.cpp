#include <fmt/format.h>
#include <string>
#include <string_view>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"
#include "cli/leader_view.h"
#include "cli/leased_run.h"
#include "election/candidate.h"
#include "supervise/supervisor.h"

namespace holdfast::cli {
namespace {

LeaderTerm term_of(const JsonValue& object, std::string_view holder) {
    return {object[holder].text, object["token"].number};
}

FilterOptions filter_of(const std::string& resource) {
    FilterOptions filter;
    filter.prefix = resource;
    filter.name_space = "default";
    return filter;
}

/// `holdfast elect GROUP` without a command: shows the leader, and every change as it happens, until a signal arrives.
class LeaderWatch {
 public:
    explicit LeaderWatch(const Arguments& arguments);

    /// Returns the exit code.
    int run();

 private:
    /// Reads the leader from the server. Prints nothing if it is known already.
    Result<Answer> read();
    void read_again();
    void on_event(const StreamEvent& event);
    void show(std::string_view event, const std::string& at) const;

    std::string group_;
    std::string resource_;
    Screen screen_;
    LeaderView view_;
    EventFollower follower_;
};

LeaderWatch::LeaderWatch(const Arguments& arguments)
    : group_(arguments.elect.group),
      resource_(election::leader_resource(group_)),
      screen_(arguments.common),
      follower_(arguments.common, events_target(filter_of(resource_)),
                {[this](const StreamEvent& event) { on_event(event); }, [this] { read_again(); }}) {}

int LeaderWatch::run() {
    const auto answer = read();
    if (follower_.stopped()) return exit_ok;
    if (const auto exit_code = failed(screen_, answer)) return *exit_code;
    return follower_.run();
}

Result<Answer> LeaderWatch::read() {
    auto answer = follower_.ask().get("/v1/leaders/" + percent_encode(group_));
    if (!answer || !answer->ok()) return answer;
    resource_ = answer->body["resource"].text;
    std::optional<LeaderTerm> term;
    if (answer->body["leader"].is(JsonValue::Kind::string)) term = term_of(answer->body, "leader");
    if (view_.observed(std::move(term))) show("now", format_wall_time(wall_clock_ms()));
    return answer;
}

/// The stream reports only events from here on; a read finds what happened before it began.
void LeaderWatch::read_again() {
    const auto answer = read();
    if (follower_.stopped() || (answer && answer->ok())) return;
    screen_.note("cannot find out who leads: " +
                 (answer ? std::string(error_code_of(*answer).name()) : answer.error().message));
}

void LeaderWatch::on_event(const StreamEvent& event) {
    if (event.type == "missed") return read_again();
    const auto read = read_json_object(event.data, answer_limits);
    if (!read) return;
    const JsonValue& data = *read;
    if (data["resource"].text != resource_ || data["predicate"].text != "MUTATES") return;
    const std::string type = data["type"].text;
    LeaderTerm term = term_of(data, "holder");
    const bool ends = type == "released" || type == "expired" || type == "revoked";
    if (type == "granted" ? view_.began(std::move(term)) : ends && view_.ended(term.token)) show(type, data["at"].text);
}

void LeaderWatch::show(std::string_view event, const std::string& at) const {
    const auto& term = view_.term();
    if (screen_.json()) {
        return screen_.show(JsonValue::object({{"group", group_},
                                               {"leader", term ? JsonValue(term->leader) : nullptr},
                                               {"token", term ? JsonValue(term->token) : nullptr},
                                               {"event", event},
                                               {"at", at}}));
    }
    const std::string who = term ? printable(term->leader) : "nobody";
    const std::string more = term             ? fmt::format(" with token {}", term->token)
                             : event != "now" ? fmt::format(": {}", event)
                                              : "";
    screen_.line(fmt::format("{}  {} leads {}{}", at,
                             coloured(who, term ? Colour::green : Colour::yellow, screen_.colours()), printable(group_),
                             more));
}

TakeOptions candidacy(const Arguments& arguments) {
    TakeOptions take = arguments.take;
    take.resources = {election::leader_resource(arguments.elect.group)};
    take.wait_for_ever = true;
    take.reason = "leads " + arguments.elect.group;
    return take;
}

/// Runs for election until the command ends by itself, or a signal ends it. After a lost term it runs again.
int lead(const Arguments& arguments) {
    const std::string& group = arguments.elect.group;
    const Screen screen{arguments.common};
    const TakeOptions take = candidacy(arguments);
    supervise::SignalInbox signals{supervise::supervised_signals()};
    for (;;) {
        const LeasedRun::Ending ending =
            run_leased({.common = arguments.common,
                        .take = take,
                        .screen = screen,
                        .signals = signals,
                        .environment = {"HOLDFAST_GROUP=" + group},
                        .on_granted = [&](const Lease& lease) {
                            screen.note(fmt::format("leads {} with token {}", group, lease.token()));
                        }});
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        if (!ending.lost) return ending.exit_code;
        if (ending.told_to_end) return 128 + *ending.told_to_end;
        screen.note(fmt::format("no longer leads {}, and the command was stopped; standing again", group));
    }
}

}  // namespace

void add_elect_options(CLI::App* command, Arguments& arguments) {
    TakeOptions& take = arguments.take;
    set_usage(command, "holdfast elect GROUP [OPTIONS] [-- COMMAND [ARGUMENT...]]");
    command->add_option("GROUP", arguments.elect.group, "the group that has one leader; the lease is leader:GROUP")
        ->required();
    add_duration(
        command, "--ttl", take.ttl,
        "how soon another may lead if this machine vanishes, which is never before the command has ended; default: the "
        "policy's")
        ->envname("HOLDFAST_TTL");
    command->add_option("--holder", take.holder, "the candidate; default: user@host")
        ->type_name("TEXT")
        ->envname("HOLDFAST_HOLDER");
    add_leave_daemons(command, take.leave_daemons)->envname("HOLDFAST_LEAVE_DAEMONS");
}

int elect_command(const Arguments& arguments) {
    if (arguments.take.command.empty()) return LeaderWatch{arguments}.run();
    return lead(arguments);
}

}  // namespace holdfast::cli
