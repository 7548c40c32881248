#include <boost/json/object.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/backend_view.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

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
            {std::to_string(number_of(held, "token"))},
            {renewable ? format_duration(left) : format_duration(left) + ", barred",
             renewable ? Colour::none : Colour::yellow}};
}

}  // namespace

int key_list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& name_space = arguments.backend.name_space;
    const auto answer = api.get_all(
        "/v1/keys?limit=1000" + (name_space.empty() ? "" : "&namespace=" + percent_encode(name_space)), "keys");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    Table table{{"KEY", "NAMESPACE", "TAG", "BACKEND", "STATE", "DRONE", "TOKEN", "REMAINING"}};
    for (const json::value& held : array_of(answer->body, "keys"))
        table.add(key_row(held));
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "keys").empty())
        screen.note("no key is held");
    else
        screen.show(table);
    return exit_ok;
}

int key_bar_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const BackendArguments& options = arguments.backend;
    const std::string key = (options.name_space.empty() ? "default" : options.name_space) + "/" + options.key;
    const auto answer = api.send("POST", "/v1/keys/" + percent_encode(key) + "/bar", json::object{});
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    const std::chrono::milliseconds left{number_of(answer->body, "expires_in_ms")};
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line(printable(options.key) + " is not renewed any more; its backend " +
                    printable(text_of(answer->body, "backend")) + " ends within " + format_duration(left));
    return exit_ok;
}

}  // namespace holdfast
