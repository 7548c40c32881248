#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/code.h"
#include "base/result.h"
#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"

namespace holdfast::cli {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t spawn_file_bytes = 1024 * 1024;

Error unusable_spawn(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

Result<JsonValue> read_spawn(const std::string& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    std::istream& input = path == "-" ? std::cin : file;
    if (!input) return unusable_spawn(fmt::format("cannot read {}", path));
    std::string text{std::istreambuf_iterator<char>{input}, {}};
    if (text.size() > spawn_file_bytes) return unusable_spawn(fmt::format("{} is longer than 1 MiB", path));
    auto value = read_json(text);
    if (!value || !value->is(Kind::object))
        return unusable_spawn(
            fmt::format(R"({} is not a JSON object like {{"command": "room-server", "args": ["--verbose"]}})", path));
    return value;
}

/// Rounded up, so that a fraction of a second does not become zero.
std::int64_t whole_seconds(Duration duration) {
    return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

bool describes_something(const BackendArguments& options) {
    return !options.pool.empty() || !options.cwd.empty() || !options.ready.empty() || !options.env.empty() ||
           options.port || options.max_idle || options.lifetime || options.start_timeout;
}

JsonValue readiness(const std::string& ready) {
    if (ready.starts_with("http:")) return JsonValue::object({{"http", ready.substr(5)}});
    return JsonValue::object({{ready, true}});
}

void add_environment(JsonValue& spawn, const std::vector<std::string>& variables) {
    if (variables.empty()) return;
    JsonValue env = spawn["env"].is(Kind::object) ? spawn["env"] : JsonValue::object();
    for (const std::string& variable : variables) {
        const std::size_t equals = variable.find('=');
        env.set(variable.substr(0, equals), variable.substr(equals + 1));
    }
    spawn.set("env", std::move(env));
}

void add_typed(JsonValue& spawn, const BackendArguments& options) {
    if (!options.pool.empty()) spawn.set("pool", options.pool);
    if (!options.cwd.empty()) spawn.set("cwd", options.cwd);
    if (!options.ready.empty()) spawn.set("ready", readiness(options.ready));
    if (options.port) spawn.set("port", *options.port);
    if (options.max_idle) spawn.set("max_idle_s", whole_seconds(*options.max_idle));
    if (options.lifetime) spawn.set("lifetime_s", whole_seconds(*options.lifetime));
    if (options.start_timeout) spawn.set("start_timeout_s", whole_seconds(*options.start_timeout));
    add_environment(spawn, options.env);
}

Result<JsonValue> spawn_of(const BackendArguments& options) {
    auto spawn = JsonValue::object();
    if (!options.spawn_file.empty()) {
        auto read = read_spawn(options.spawn_file);
        if (!read) return read.error();
        spawn = std::move(*read);
    } else if (!options.spawn.empty()) {
        spawn = JsonValue::object({{"command", "sh"}, {"args", JsonValue::List{"-c", options.spawn}}});
    } else if (describes_something(options)) {
        return unusable_spawn("these options describe a backend to start: give its command with --spawn");
    } else {
        return spawn;
    }
    add_typed(spawn, options);
    return spawn;
}

/// The body of `POST /v1/connect` for a command line, without its wait. `spawn` is present only if there is something
/// to start: --spawn, a line for the drone's shell, or --spawn-file; options override the file. Error
/// `invalid_argument` for a file that is not a JSON object, or for spawn options without anything to start.
Result<JsonValue> connect_body(const BackendArguments& options) {
    auto spawn = spawn_of(options);
    if (!spawn) return spawn.error();
    auto key = JsonValue::object();
    if (!options.key.empty()) key.set("name", options.key);
    if (!options.name_space.empty()) key.set("namespace", options.name_space);
    if (!options.tag.empty()) key.set("tag", options.tag);
    auto body = JsonValue::object({{"key", std::move(key)}});
    if (!spawn->members.empty()) body.set("spawn", std::move(*spawn));
    if (!options.user.empty()) body.set("user", options.user);
    if (options.ttl) body.set("ttl_ms", std::chrono::ceil<std::chrono::milliseconds>(*options.ttl).count());
    return body;
}

constexpr Duration max_wait_per_request = 20s;
/// The interval of requests for a key whose backend is terminating.
constexpr Duration connect_pause = 200ms;

bool is_ready(const JsonValue& connected) {
    return connected["status"].text == "ready";
}

bool is_ending(const JsonValue& connected) {
    const std::string status = connected["status"].text;
    return status == "terminating" || status == "hard_terminating" || status == "terminated";
}

/// Requests the backend of a key until one is ready, or the time is over. At most one backend is started: if that one
/// ends, its end is the result.
class ConnectTask {
 public:
    ConnectTask(const Arguments& arguments, JsonValue body)
        : screen_(arguments.common),
          api_(arguments.common),
          options_(arguments.backend),
          body_(std::move(body)),
          until_(holder_clock_now() + options_.wait) {}

    /// Returns the exit code; after 0, connected() is the server's answer.
    int run();
    const JsonValue& connected() const { return connected_; }

 private:
    Duration left() const { return std::max(until_ - holder_clock_now(), HolderInstant::duration::zero()); }
    /// Returns an exit code if there is nothing more to do.
    std::optional<int> request();
    bool may_ask_elsewhere();
    std::optional<int> judge();
    void note_spawned();
    int fail_ended();
    int fail_late();

    Screen screen_;
    Api api_;
    const BackendArguments& options_;
    JsonValue body_;
    HolderInstant until_;
    JsonValue connected_;
    std::size_t unanswered_ = 0;
    std::string spawned_;        ///< the backend that was started by this command
    std::string spawned_drone_;  ///< its drone
};

int ConnectTask::run() {
    for (;;) {
        if (const auto done = request()) return *done;
        std::this_thread::sleep_for(std::min<Duration>(connect_pause, left()));
    }
}

std::optional<int> ConnectTask::request() {
    const Duration wait = std::min(left(), max_wait_per_request);
    body_.set("wait_s", std::chrono::ceil<std::chrono::seconds>(wait).count());
    const auto answer = api_.send_and_wait("/v1/connect", body_, wait + 1s);
    if (!answer) return may_ask_elsewhere() ? std::nullopt : std::optional{fail(screen_, answer.error())};
    if (!answer->ok()) {
        // The key has no backend any more, and there is nothing to start: the backend started by this command is gone.
        if (!spawned_.empty() && error_code_of(*answer) == Code::nothing_to_start) return fail_ended();
        const bool passing =
            exit_code_of(*answer) == exit_not_now && left() > Duration::zero();  // a drone may come, a server recover
        return passing ? std::nullopt : std::optional{fail(screen_, *answer)};
    }
    connected_ = answer->body;
    note_spawned();
    return judge();
}

/// Called after a server did not answer. A request that names its key may be repeated at another server: the key has
/// one backend, which every server knows (K1). Without time to wait, each server is asked once.
bool ConnectTask::may_ask_elsewhere() {
    ++unanswered_;
    const bool has_time = left() > Duration::zero() || unanswered_ < api_.connection().servers();
    return api_.has_several_servers() && api_.connection().perhaps_done() && body_.find("key") != nullptr && has_time;
}

/// From now on the key, even a random one, is only read.
void ConnectTask::note_spawned() {
    body_.set("key", connected_["key"]);
    if (!connected_["spawned"].truth) return;
    spawned_ = connected_["backend_id"].text;
    spawned_drone_ = connected_["drone"].text;
    std::erase_if(body_.members, [](const JsonValue::Member& member) { return member.key == "spawn"; });
}

std::optional<int> ConnectTask::judge() {
    if (is_ready(connected_)) return exit_ok;
    if (options_.wait == Duration::zero() && !is_ending(connected_)) return exit_ok;
    if (is_ending(connected_) && connected_["backend_id"].text == spawned_) return fail_ended();
    if (left() > Duration::zero()) return std::nullopt;
    return fail_late();
}

int ConnectTask::fail_ended() {
    const auto answer = api_.get("/v1/backends/" + percent_encode(spawned_));
    const JsonValue backend = answer && answer->ok() ? answer->body["backend"] : JsonValue();
    const std::string reason = backend["reason"].text;
    std::string text = fmt::format("the backend {} ended before it was ready", spawned_);
    if (!reason.empty()) text += ": " + reason;
    if (backend["exit_code"].is(Kind::number)) text += ", exit code " + backend["exit_code"].text;
    if (const std::string message = backend["message"].text; !message.empty()) text += fmt::format(" ({})", message);
    text += fmt::format("; its output is in logs/{}.log of the drone {}", spawned_, spawned_drone_);
    const bool timed_out = reason == "start_timed_out";
    return fail(screen_, Error{timed_out ? Code::start_timed_out : Code::backend_ended, text}, exit_failed);
}

int ConnectTask::fail_late() {
    const std::string id = connected_["backend_id"].text;
    return fail(screen_,
                Error{Code::wait_timeout, fmt::format("the backend {0} is {1}, and not ready after {2}; follow it with "
                                                      "'holdfast backend status --watch {0}'",
                                                      id, connected_["status"].text, format_duration(options_.wait))});
}

void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
}

/// Only returns if the command cannot be run.
int exec(const Screen& screen, const std::vector<std::string>& given, const JsonValue& connected) {
    const std::string address = connected["address"].text;
    std::vector<std::string> command = with_value(given, address);
    set("HOLDFAST_ADDRESS", address);
    set("HOLDFAST_BACKEND_ID", connected["backend_id"].text);
    set("HOLDFAST_KEY", connected["key"]["name"].text);
    set("HOLDFAST_FENCING_TOKEN", connected["token"].text);
    std::vector<char*> pointers;
    for (std::string& word : command)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    const int why = errno;
    screen.complain(Error{Code::cannot_run, fmt::format("cannot run '{}': {}", command[0], std::strerror(why))});
    return why == ENOENT ? exit_not_found : exit_cannot_run;
}

std::string ready_complaint(const std::string& text) {
    const bool known = text == "tcp" || text == "started" || text.starts_with("http:/");
    return known ? "" : "--ready must be tcp, started or http:/path";
}

void add_spawn_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--spawn", options.spawn, "the shell command line that a drone starts if the key has no backend")
        ->type_name("'COMMAND'")
        ->envname("HOLDFAST_CONNECT_SPAWN");
    command
        ->add_option("--spawn-file", options.spawn_file,
                     "the same as JSON, without a shell, as in docs/http-api.md; -: standard input")
        ->type_name("FILE")
        ->envname("HOLDFAST_CONNECT_SPAWN_FILE");
    add_text(command, "--pool", options.pool, "the pool of drones to start it on; default: default")
        ->type_name("NAME")
        ->envname("HOLDFAST_CONNECT_POOL");
    command->add_option("--env", options.env, "a variable for the backend's environment; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [](std::string& text) {
                const std::size_t equals = text.find('=');
                return equals != 0 && equals != std::string::npos ? std::string{} : "--env must be NAME=VALUE";
            },
            "", "variable"))
        ->envname("HOLDFAST_CONNECT_ENV");
    command->add_option("--cwd", options.cwd, "the directory to start it in; default: the drone's own")
        ->type_name("DIR")
        ->envname("HOLDFAST_CONNECT_CWD");
    command->add_option("--port", options.port, "the port it listens on; default: a free one")
        ->check(CLI::Range(1, 65'535))
        ->type_name("NUMBER")
        ->envname("HOLDFAST_CONNECT_PORT");
    command
        ->add_option(
            "--ready", options.ready,
            "when it is ready: its port accepts connections (tcp), it was started, or a GET succeeds; default: tcp")
        ->type_name("tcp|started|http:/path")
        ->check(CLI::Validator([](std::string& text) { return ready_complaint(text); }, "", "readiness"))
        ->envname("HOLDFAST_CONNECT_READY");
    add_duration(command, "--max-idle", options.max_idle, "stop it after this time without a connection")
        ->envname("HOLDFAST_CONNECT_MAX_IDLE");
    add_duration(command, "--lifetime", options.lifetime, "stop it after this time in any case")
        ->envname("HOLDFAST_CONNECT_LIFETIME");
    add_duration(command, "--start-timeout", options.start_timeout,
                 "how long it may take to become ready; default: 60s")
        ->envname("HOLDFAST_CONNECT_START_TIMEOUT");
}

}  // namespace

void add_connect_options(CLI::App* command, BackendArguments& options) {
    set_usage(command, "holdfast backend connect [KEY] [OPTIONS] [-- COMMAND [ARGUMENT...]]");
    command->add_option("KEY", options.key,
                        "the key: what one backend serves, such as a document or a room; default: a random one");
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
    add_text(command, "--tag", options.tag, "the kind of backend; refused if the key is held with another tag")
        ->envname("HOLDFAST_CONNECT_TAG");
    add_spawn_options(command, options);
    add_duration(command, "--ttl", options.ttl,
                 "how long the key lasts without renewal, if a backend is started; default: the policy's")
        ->envname("HOLDFAST_CONNECT_TTL");
    add_text(command, "--user", options.user, "the user, recorded with the backend")->envname("HOLDFAST_CONNECT_USER");
    add_duration(command, "--wait", options.wait, "how long to wait until it is ready; 0s: do not wait")
        ->default_str("30s")
        ->envname("HOLDFAST_CONNECT_WAIT");
}

int backend_connect_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    auto body = connect_body(arguments.backend);
    if (!body) return fail(screen, body.error(), exit_usage);
    ConnectTask task{arguments, std::move(*body)};
    if (const int failed = task.run(); failed != exit_ok) return failed;
    const JsonValue& connected = task.connected();
    if (!arguments.take.command.empty()) return exec(screen, arguments.take.command, connected);
    if (screen.json()) {
        screen.show(connected);
        return exit_ok;
    }
    const JsonValue& key = connected["key"];
    if (arguments.backend.key.empty()) screen.note("the key is " + shown_name(key["namespace"].text, key["name"].text));
    const std::string address = connected["address"].text;
    if (address.empty()) screen.note("it has no address yet: " + connected["backend_id"].text);
    if (!address.empty()) screen.line(printable(address));
    return exit_ok;
}

}  // namespace holdfast::cli
