#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
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

namespace json = boost::json;

constexpr auto reconnect_pause = 500ms;

std::string shown_key(const json::value& key) {
    return shown_name(text_of(key, "namespace"), text_of(key, "name"));
}

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

/// `terminated (idle)`, `ready (its drone may be dead)`, or only the state if there is no reason and no doubt.
std::string shown_state(const json::value& backend) {
    const std::string reason = text_of(backend, "reason");
    const std::string state = text_of(backend, "state");
    if (!reason.empty()) return state + " (" + reason + ")";
    const bool in_doubt = !field_of(backend, "drone_heard_ms_ago").is_null();
    return in_doubt ? state + " (its drone may be dead)" : state;
}

Colour colour_of_state(std::string_view state) {
    if (state == "ready") return Colour::green;
    if (state == "terminated") return Colour::dim;
    return Colour::yellow;
}

/// The state and, if there is one, the address, or how it ended.
std::string status_line(const json::value& backend, bool colours) {
    const std::string state = text_of(backend, "state");
    std::string line = coloured(printable(shown_state(backend)), colour_of_state(state), colours);
    if (state == "terminated") {
        if (field_of(backend, "exit_code").is_number()) line += "  exit code " + count_of(backend, "exit_code");
        return line;
    }
    if (const std::string address = text_of(backend, "address"); !address.empty()) line += "  " + printable(address);
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
        if (answer && answer->status != 200 && !passing) {
            boost::system::error_code malformed;
            return fail(screen_, Answer{answer->status, json::parse(answer->body, malformed)});
        }
        if (!heard_) return fail(screen_, answer ? Error{"unreachable", "the stream ended"} : answer.error());
        stop_.sleep_for(reconnect_pause);
    }
}

bool BackendWatch::on_event(const StreamEvent& event) {
    boost::system::error_code malformed;
    const json::value backend = json::parse(event.data, malformed);
    if (malformed || event.type != "status") return true;
    heard_ = true;
    ended_ = text_of(backend, "state") == "terminated";
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

Table backends_table(const json::array& backends, const json::array& unreported = {}) {
    Table table{{"BACKEND", "KEY", "STATE", "FOR", "ADDRESS", "DRONE", "TOKEN"}};
    for (const json::value& backend : backends) {
        const std::chrono::milliseconds since{number_of(backend, "state_for_ms")};
        table.add({{text_of(backend, "id"), Colour::bold},
                   {shown_key(field_of(backend, "key"))},
                   {shown_state(backend), colour_of_state(text_of(backend, "state"))},
                   {format_duration(since)},
                   {or_dash(text_of(backend, "address"))},
                   {text_of(backend, "drone")},
                   {count_of(backend, "token")}});
    }
    for (const json::value& backend : unreported)
        table.add({{text_of(backend, "id"), Colour::bold},
                   {shown_key(field_of(backend, "key"))},
                   {"unknown", Colour::yellow},
                   {"-"},
                   {"-"},
                   {text_of(backend, "drone")},
                   {count_of(backend, "token")}});
    return table;
}

int show_backend(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const json::value& backend = field_of(answer->body, "backend");
    screen.show(backends_table({backend}));
    if (const std::string tag = text_of(field_of(backend, "key"), "tag"); !tag.empty())
        screen.line("tag " + printable(tag));
    if (const std::string user = text_of(backend, "user"); !user.empty()) screen.line("for " + printable(user));
    if (field_of(backend, "exit_code").is_number()) screen.line("exit code " + count_of(backend, "exit_code"));
    if (const std::string message = text_of(backend, "message"); !message.empty()) screen.line(printable(message));
    if (const auto silent = number_of(backend, "drone_heard_ms_ago"); silent > 0)
        screen.line(
            fmt::format("its drone was last heard from {} ago", format_duration(std::chrono::milliseconds{silent})));
    return exit_ok;
}

void show_backends(const Screen& screen, const json::value& page) {
    const json::array& backends = array_of(page, "backends");
    const json::array& unreported = array_of(page, "unreported");
    const json::value& complete_or_older = field_of(page, "complete");  // older servers do not send it
    const bool complete = !complete_or_older.is_bool() || complete_or_older.as_bool();
    if (!backends.empty() || !unreported.empty())
        screen.show(backends_table(backends, unreported));
    else if (complete)
        screen.note("no backends");
    if (!unreported.empty())
        screen.note("unknown: the key is held, but its drone has not reported the backend to this server yet");
    if (!complete)
        screen.note("the list may be incomplete: the server was just started, or cannot list the keys at the moment");
}

Table::Row key_row(const json::value& held) {
    const json::value& key = field_of(held, "key");
    const std::string state = text_of(held, "state");
    const bool renewable = flag_of(held, "renewable");
    const std::chrono::milliseconds left{number_of(held, "expires_in_ms")};
    return {{text_of(key, "name"), Colour::bold},
            {text_of(key, "namespace")},
            {or_dash(text_of(key, "tag"))},
            {text_of(held, "backend")},
            {state.empty() ? "unknown" : state, colour_of_state(state)},
            {text_of(held, "drone")},
            {count_of(held, "token")},
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
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    const json::value& backend = field_of(answer->body, "backend");
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
    const auto answer =
        api.send("POST", backend_target(options) + "/terminate", json::object{{"how", options.hard ? "hard" : "soft"}});
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const bool ended = text_of(field_of(answer->body, "backend"), "state") == "terminated";
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
    const std::string key = (options.name_space.empty() ? "default" : options.name_space) + "/" + options.key;
    const auto answer = api.send("POST", "/v1/keys/" + percent_encode(key) + "/bar", json::object{});
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const std::chrono::milliseconds left{number_of(answer->body, "expires_in_ms")};
    screen.line(fmt::format("{} is not renewed any more; its backend {} ends within {}", printable(options.key),
                            printable(text_of(answer->body, "backend")), format_duration(left)));
    return exit_ok;
}

}  // namespace holdfast::cli
