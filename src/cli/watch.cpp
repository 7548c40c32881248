#include <boost/json/parse.hpp>

#include "cli/commands.h"
#include "cli/event_follower.h"

namespace holdfast {
namespace {

namespace json = boost::json;

Colour colour_of(std::string_view type) {
    if (type == "granted") return Colour::green;
    if (type == "released" || type == "renewed") return Colour::dim;
    return Colour::yellow;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string line_of(const json::value& event, bool colours) {
    const std::string type = text_of(event, "type");
    return text_of(event, "at") + "  " + coloured(padded(type, 8), colour_of(type), colours) + "  " +
           printable(text_of(event, "lease")) + "  " + text_of(event, "predicate") + "  " +
           printable(text_of(event, "holder"));
}

void show(const Screen& screen, const StreamEvent& event) {
    if (event.type == "missed") {
        screen.complain("some events were missed; 'holdfast list' shows how things are now");
        if (screen.json()) screen.show(json::value{{"type", "missed"}});
        return;
    }
    boost::system::error_code malformed;
    const json::value data = json::parse(event.data, malformed);
    if (malformed) return;
    if (screen.json())
        screen.show(data);
    else
        screen.line(line_of(data, screen.colours()));
}

}  // namespace

int watch_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const EventFollower::Reader reader{[&](const StreamEvent& event) { show(screen, event); }};
    return EventFollower{arguments.common, events_target(arguments.filter), reader}.run();
}

}  // namespace holdfast
