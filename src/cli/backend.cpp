#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/backend_view.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"
#include "cli/stop_on_signal.h"

namespace holdfast {

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

namespace {

/// The parser never sees the command and so cannot describe it.
class ConnectFormatter : public CLI::Formatter {
 public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: holdfast backend connect [KEY] [OPTIONS] [-- COMMAND [ARGUMENT...]]\n";
    }
};

std::string ready_complaint(const std::string& text) {
    const bool known = text == "tcp" || text == "started" || text.starts_with("http:/");
    return known ? "" : "--ready is tcp, started, or http:/path";
}

void add_spawn_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--spawn", options.spawn, "what a drone starts if nobody serves the key: a shell's command line")
        ->type_name("'COMMAND'")
        ->envname("HOLDFAST_CONNECT_SPAWN");
    command
        ->add_option("--spawn-file", options.spawn_file,
                     "the same as JSON, word by word, as in docs/http-api.md; - for standard input")
        ->type_name("FILE")
        ->envname("HOLDFAST_CONNECT_SPAWN_FILE");
    add_text(command, "--pool", options.pool, "on which drones; default 'default'")
        ->type_name("NAME")
        ->envname("HOLDFAST_CONNECT_POOL");
    command->add_option("--env", options.env, "a variable of the backend's environment; may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [](std::string& text) {
                const std::size_t equals = text.find('=');
                return equals != 0 && equals != std::string::npos ? std::string{} : "--env takes NAME=VALUE";
            },
            "", "variable"))
        ->envname("HOLDFAST_CONNECT_ENV");
    command->add_option("--cwd", options.cwd, "where it is started; default the drone's own folder")
        ->type_name("DIR")
        ->envname("HOLDFAST_CONNECT_CWD");
    command->add_option("--port", options.port, "the port it listens on; default a free one")
        ->check(CLI::Range(1, 65'535))
        ->type_name("NUMBER")
        ->envname("HOLDFAST_CONNECT_PORT");
    command->add_option("--ready", options.ready, "when it is ready: its port takes connections; default tcp")
        ->type_name("tcp|started|http:/path")
        ->check(CLI::Validator([](std::string& text) { return ready_complaint(text); }, "", "readiness"))
        ->envname("HOLDFAST_CONNECT_READY");
    add_duration(command, "--max-idle", options.max_idle, "stop it after so long without a connection")
        ->envname("HOLDFAST_CONNECT_MAX_IDLE");
    add_duration(command, "--lifetime", options.lifetime, "stop it after so long in any case")
        ->envname("HOLDFAST_CONNECT_LIFETIME");
    add_duration(command, "--start-timeout", options.start_timeout, "how long it may take to be ready; default 60s")
        ->envname("HOLDFAST_CONNECT_START_TIMEOUT");
}

}  // namespace

void add_connect_options(CLI::App* command, BackendArguments& options) {
    command->formatter(std::make_shared<ConnectFormatter>());
    command->add_option("KEY", options.key, "what one backend serves: a document, a room; none: a random one");
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
    add_text(command, "--tag", options.tag, "what kind of backend; a key that is held with another tag is refused")
        ->envname("HOLDFAST_CONNECT_TAG");
    add_spawn_options(command, options);
    add_duration(command, "--ttl", options.ttl,
                 "how long the key lasts without renewal, if this takes it; else the policy's default")
        ->envname("HOLDFAST_CONNECT_TTL");
    add_text(command, "--user", options.user, "for whom; recorded with the backend")->envname("HOLDFAST_CONNECT_USER");
    add_duration(command, "--wait", options.wait, "how long to wait until it is ready; 0s: not at all")
        ->default_str("30s")
        ->envname("HOLDFAST_CONNECT_WAIT");
}

void add_backend_list_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--key", options.key, "only of this key")->envname("HOLDFAST_BACKEND_LIST_KEY");
    add_text(command, "--namespace", options.name_space, "only of keys in this namespace")
        ->envname("HOLDFAST_BACKEND_LIST_NAMESPACE");
    add_text(command, "--drone", options.drone, "only of this drone")->envname("HOLDFAST_BACKEND_LIST_DRONE");
    add_text(command, "--state", options.state, "only in this state")
        ->check(CLI::IsMember(
            {"scheduled", "loading", "starting", "waiting", "ready", "terminating", "hard_terminating", "terminated"}))
        ->envname("HOLDFAST_BACKEND_LIST_STATE");
}

void add_backend_id(CLI::App* command, BackendArguments& options) {
    command->add_option("ID", options.id, "the backend, as connect and list name it")->required();
}

void add_key_bar_options(CLI::App* command, BackendArguments& options) {
    command->add_option("KEY", options.key, "which")->required();
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
}

namespace {

namespace json = boost::json;

constexpr auto reconnect_pause = 500ms;

}  // namespace

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
        const bool passing = heard_ && answer && answer->status == 503;  // it was restarted, and hears of it soon
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
    if (line != shown_) screen_.json() ? screen_.show(backend) : screen_.line(line);
    shown_ = line;  // a reconnect repeats the state
    return !ended_;
}

namespace {

namespace json = boost::json;

std::string target_of(const BackendArguments& options) {
    return "/v1/backends/" + percent_encode(options.id);
}

std::string list_target(const BackendArguments& options) {
    std::string target = "/v1/backends?limit=1000";
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) target.append("&").append(name).append("=").append(percent_encode(value));
    };
    add("key", options.key);
    add("namespace", options.name_space);
    add("drone", options.drone);
    add("state", options.state);
    return target;
}

Table backends_table(const json::array& backends, const json::array& unreported = {}) {
    Table table{{"BACKEND", "KEY", "STATE", "FOR", "ADDRESS", "DRONE", "TOKEN"}};
    for (const json::value& backend : backends) {
        const std::chrono::milliseconds since{number_of(backend, "state_for_ms")};
        table.add({{text_of(backend, "id"), Colour::bold},
                   {shown_key(field_of(backend, "key"))},
                   {state_of(backend), colour_of_state(text_of(backend, "state"))},
                   {format_duration(since)},
                   {or_dash(text_of(backend, "address"))},
                   {text_of(backend, "drone")},
                   {std::to_string(number_of(backend, "token"))}});
    }
    for (const json::value& backend : unreported)
        table.add({{text_of(backend, "id"), Colour::bold},
                   {shown_key(field_of(backend, "key"))},
                   {"unknown", Colour::yellow},
                   {"-"},
                   {"-"},
                   {text_of(backend, "drone")},
                   {std::to_string(number_of(backend, "token"))}});
    return table;
}

int show_backend(const Screen& screen, const Result<Answer>& answer) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json()) {
        screen.show(answer->body);
        return exit_ok;
    }
    const json::value& backend = field_of(answer->body, "backend");
    screen.show(backends_table({backend}));
    if (const std::string tag = text_of(field_of(backend, "key"), "tag"); !tag.empty())
        screen.line("tag " + printable(tag));
    if (const std::string user = text_of(backend, "user"); !user.empty()) screen.line("for " + printable(user));
    if (field_of(backend, "exit_code").is_number())
        screen.line("exit code " + std::to_string(number_of(backend, "exit_code")));
    if (const std::string message = text_of(backend, "message"); !message.empty()) screen.line(printable(message));
    if (const auto silent = number_of(backend, "drone_heard_ms_ago"); silent > 0)
        screen.line("its drone was last heard from " + format_duration(std::chrono::milliseconds{silent}) + " ago");
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
    if (!unreported.empty()) screen.note("unknown: its key is held, and its drone has not told this server of it yet");
    if (!complete)
        screen.note(
            "the server was just started, or cannot list the keys: there may be backends of which it does not "
            "know yet");
}

}  // namespace

int backend_list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all(list_target(arguments.backend), "backends");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else
        show_backends(screen, answer->body);
    return exit_ok;
}

int backend_show_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    return show_backend(screen, api.get(target_of(arguments.backend)));
}

int backend_status_command(const Arguments& arguments) {
    if (arguments.backend.watch) return BackendWatch{arguments.common, target_of(arguments.backend) + "/status"}.run();
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get(target_of(arguments.backend));
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
        api.send("POST", target_of(options) + "/terminate", json::object{{"how", options.hard ? "hard" : "soft"}});
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    const bool ended = text_of(field_of(answer->body, "backend"), "state") == "terminated";
    if (screen.json())
        screen.show(answer->body);
    else if (ended)
        screen.line(printable(options.id) + " has ended");
    else
        screen.line(printable(options.id) + (options.hard ? " is being killed" : " is being asked to stop"));
    return exit_ok;
}

}  // namespace holdfast
