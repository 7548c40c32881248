#include "cli/backend_view.h"

#include "cli/api.h"

namespace holdfast {

namespace json = boost::json;

std::string shown_key(const json::value& key) {
    const std::string name_space = text_of(key, "namespace");
    const std::string name = text_of(key, "name");
    return name_space.empty() || name_space == "default" ? name : "@" + name_space + "/" + name;
}

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

std::string state_of(const json::value& backend) {
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

std::string status_line(const json::value& backend, bool colours) {
    const std::string state = text_of(backend, "state");
    std::string line = coloured(printable(state_of(backend)), colour_of_state(state), colours);
    if (state == "terminated") {
        if (field_of(backend, "exit_code").is_number())
            line += "  exit code " + std::to_string(number_of(backend, "exit_code"));
        return line;
    }
    if (const std::string address = text_of(backend, "address"); !address.empty()) line += "  " + printable(address);
    return line;
}

}  // namespace holdfast
