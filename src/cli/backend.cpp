#include <boost/json/object.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/backend_view.h"
#include "cli/backend_watch.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
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
    const json::value& complete_or_older = field_of(page, "complete");  // older servers do not say
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
