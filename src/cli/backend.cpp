#include <fmt/format.h>
#include <string>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"
#include "cli/stop_on_signal.h"

namespace holdfast::cli {
namespace {

using Kind = JsonValue::Kind;

constexpr auto reconnect_pause = 500ms;

std::string shown_key(const JsonValue& key) {
    return shown_name(key["namespace"].text, key["name"].text);
}

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

/// `terminated (idle)`, `ready (its drone may be dead)`, or only the state if there is no reason and no doubt.
std::string shown_state(const JsonValue& backend) {
    const std::string reason = backend["reason"].text;
    const std::string state = backend["state"].text;
    if (!reason.empty()) return fmt::format("{} ({})", state, reason);
    const bool in_doubt = !backend["drone_heard_ms_ago"].is(Kind::null);
    return in_doubt ? state + " (its drone may be dead)" : state;
}

Colour colour_of_state(std::string_view state) {
    if (state == "ready") return Colour::green;
    if (state == "terminated") return Colour::dim;
    return Colour::yellow;
}

/// The state and, if there is one, the address, or how it ended.
std::string status_line(const JsonValue& backend, bool colours) {
    const std::string state = backend["state"].text;
    std::string line = coloured(printable(shown_state(backend)), colour_of_state(state), colours);
    if (state == "terminated") {
        if (backend["exit_code"].is(Kind::number)) line += "  exit code " + backend["exit_code"].text;
        return line;
    }
    if (const std::string address = backend["address"].text; !address.empty()) line += "  " + printable(address);
    return line;
}

/// Shows the state of a backend and each change, across reconnects, until it has ended or SIGINT, SIGTERM or SIGHUP
/// arrives. REQUIRES: constructed before any thread is started.
class BackendWatch {
 public:
    BackendWatch(const CommonOptions& options, std::string target);

    /// Returns the exit code: 0 once the backend has ended or a signal arrived.
    int run();

 private:
    /// False once the backend has ended.
    bool on_event(const StreamEvent& event);

    Screen screen_;
    Api api_;
    std::string target_;
    EventReader events_;
    std::string shown_;
    bool heard_ = false;
    bool ended_ = false;
    StopOnSignal stop_;
};

BackendWatch::BackendWatch(const CommonOptions& options, std::string target)
    : screen_(options), api_(options), target_(std::move(target)), stop_([this] { api_.connection().stop(); }) {}

int BackendWatch::run() {
    for (;;) {
        events_.restart();
        const auto answer = api_.connection().stream({"GET", target_, "", ""}, [this](std::string_view line) {
            const auto event = events_.line(line);
            return !event || on_event(*event);
        });
        if (ended_ || stop_.signal() != 0) return exit_ok;
        const bool passing = heard_ && answer && answer->status == 503;  // restarted, and not told of the backend yet
        if (answer && answer->status != 200 && !passing)
            return failed(screen_, api_.read(*answer)).value_or(exit_failed);
        if (!heard_) return fail(screen_, answer ? Error{Code::unreachable, "the stream ended"} : answer.error());
        stop_.sleep_for(reconnect_pause);
    }
}

bool BackendWatch::on_event(const StreamEvent& event) {
    const auto read = read_json_object(event.data, answer_limits);
    if (!read || event.type != "status") return true;
    const JsonValue& backend = *read;
    heard_ = true;
    ended_ = backend["state"].text == "terminated";
    const std::string line = status_line(backend, screen_.colours());
    if (line == shown_) return !ended_;  // a reconnect repeats the state
    shown_ = line;
    if (screen_.json())
        screen_.show(backend);
    else
        screen_.line(line);
    return !ended_;
}

std::string backend_target(const BackendArguments& options) {
    return "/v1/backends/" + percent_encode(options.id);
}

std::string backends_target(const BackendArguments& options) {
    return with_query("/v1/backends", {{"limit", "1000"},
                                       {"key", options.key},
                                       {"namespace", options.name_space},
                                       {"drone", options.drone},
                                       {"state", options.state}});
}

Table backends_table(const JsonValue::List& backends, const JsonValue::List& unreported = {}) {
    Table table{{"BACKEND", "KEY", "STATE", "FOR", "ADDRESS", "DRONE", "TOKEN"}};
    for (const JsonValue& backend : backends) {
        const auto since = ms_of(backend["state_for_ms"]);
        table.add({{backend["id"].text, Colour::bold},
                   {shown_key(backend["key"])},
                   {shown_state(backend), colour_of_state(backend["state"].text)},
                   {format_duration(since)},
                   {or_dash(backend["address"].text)},
                   {backend["drone"].text},
                   {backend["token"].text}});
    }
    for (const JsonValue& backend : unreported)
        table.add({{backend["id"].text, Colour::bold},
                   {shown_key(backend["key"])},
                   {"unknown", Colour::yellow},
                   {"-"},
                   {"-"},
                   {backend["drone"].text},
                   {backend["token"].text}});
    return table;
}

int show_backend(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const JsonValue& backend = answer->body["backend"];
    screen.show(backends_table({backend}));
    if (const std::string tag = backend["key"]["tag"].text; !tag.empty()) screen.line("tag " + printable(tag));
    if (const std::string user = backend["user"].text; !user.empty()) screen.line("for " + printable(user));
    if (backend["exit_code"].is(Kind::number)) screen.line("exit code " + backend["exit_code"].text);
    if (const std::string message = backend["message"].text; !message.empty()) screen.line(printable(message));
    if (const JsonValue& silent = backend["drone_heard_ms_ago"]; silent.number > 0)
        screen.line(fmt::format("its drone was last heard from {} ago", duration_of(silent)));
    return exit_ok;
}

void show_backends(const Screen& screen, const JsonValue& page) {
    const JsonValue::List& backends = page["backends"].items;
    const JsonValue::List& unreported = page["unreported"].items;
    const JsonValue& complete_or_older = page["complete"];  // older servers do not send it
    const bool complete = !complete_or_older.is(Kind::boolean) || complete_or_older.truth;
    if (!backends.empty() || !unreported.empty())
        screen.show(backends_table(backends, unreported));
    else if (complete)
        screen.note("no backends");
    if (!unreported.empty())
        screen.note("unknown: the key is held, but its drone has not reported the backend to this server yet");
    if (!complete)
        screen.note("the list may be incomplete: the server was just started, or cannot list the keys at the moment");
}

Table::Row key_row(const JsonValue& held) {
    const JsonValue& key = held["key"];
    const std::string state = held["state"].text;
    const bool renewable = held["renewable"].truth;
    const auto left = ms_of(held["expires_in_ms"]);
    return {{key["name"].text, Colour::bold},
            {key["namespace"].text},
            {or_dash(key["tag"].text)},
            {held["backend"].text},
            {state.empty() ? "unknown" : state, colour_of_state(state)},
            {held["drone"].text},
            {held["token"].text},
            {renewable ? format_duration(left) : format_duration(left) + ", barred",
             renewable ? Colour::none : Colour::yellow}};
}

}  // namespace

void add_backend_list_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--key", options.key, "only backends of this key")->envname("HOLDFAST_BACKEND_LIST_KEY");
    add_text(command, "--namespace", options.name_space, "only backends of keys in this namespace")
        ->envname("HOLDFAST_BACKEND_LIST_NAMESPACE");
    add_text(command, "--drone", options.drone, "only backends of this drone")->envname("HOLDFAST_BACKEND_LIST_DRONE");
    add_text(command, "--state", options.state, "only backends in this state")
        ->check(CLI::IsMember(
            {"scheduled", "loading", "starting", "waiting", "ready", "terminating", "hard_terminating", "terminated"}))
        ->envname("HOLDFAST_BACKEND_LIST_STATE");
}

void add_backend_id(CLI::App* command, BackendArguments& options) {
    command->add_option("ID", options.id, "the backend, as connect and list print it")->required();
}

void add_key_bar_options(CLI::App* command, BackendArguments& options) {
    command->add_option("KEY", options.key, "the key")->required();
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
}

int backend_list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all(backends_target(arguments.backend), "backends");
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    show_backends(screen, answer->body);
    return exit_ok;
}

int backend_show_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_backend(screen, api.get(backend_target(arguments.backend)));
}

int backend_status_command(const Arguments& arguments) {
    if (arguments.backend.watch)
        return BackendWatch{arguments.common, backend_target(arguments.backend) + "/status"}.run();
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get(backend_target(arguments.backend));
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    const JsonValue& backend = answer->body["backend"];
    if (screen.json())
        screen.show(backend);
    else
        screen.line(status_line(backend, screen.colours()));
    return exit_ok;
}

int backend_terminate_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const BackendArguments& options = arguments.backend;
    const auto answer = api.send("POST", backend_target(options) + "/terminate",
                                 JsonValue::object({{"how", options.hard ? "hard" : "soft"}}));
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const bool ended = answer->body["backend"]["state"].text == "terminated";
    const char* const done = ended ? "has ended" : options.hard ? "is being killed" : "is being asked to stop";
    screen.line(fmt::format("{} {}", printable(options.id), done));
    return exit_ok;
}

int key_list_command(const Arguments& arguments) {
    return show_list(
        arguments.common,
        {.target = with_query("/v1/keys", {{"limit", "1000"}, {"namespace", arguments.backend.name_space}}),
         .items = "keys",
         .headings = {"KEY", "NAMESPACE", "TAG", "BACKEND", "STATE", "DRONE", "TOKEN", "REMAINING"},
         .row = key_row,
         .none = "no key is held"});
}

int key_bar_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const BackendArguments& options = arguments.backend;
    const std::string key =
        fmt::format("{}/{}", options.name_space.empty() ? "default" : options.name_space, options.key);
    const auto answer = api.send("POST", fmt::format("/v1/keys/{}/bar", percent_encode(key)), JsonValue::object());
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const auto left = ms_of(answer->body["expires_in_ms"]);
    screen.line(fmt::format("{} is not renewed any more; its backend {} ends within {}", printable(options.key),
                            printable(answer->body["backend"].text), format_duration(left)));
    return exit_ok;
}

}  // namespace holdfast::cli
