#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

/// Below this a service is shown as about to end.
constexpr auto ends_soon = 10s;

bool is_glob(const std::string& text) {
    return text.find_first_of("*?[") != std::string::npos;
}

std::string joined(const JsonValue::List& names) {
    std::string text;
    for (const JsonValue& name : names)
        text.append(text.empty() ? "" : ",").append(name.text);
    return text;
}

std::string metadata_text(const JsonValue& service) {
    std::string text;
    for (const auto& [name, value] : service["metadata"].members)
        text.append(text.empty() ? "" : " ").append(name).append("=").append(value.text);
    return text;
}

std::string state_of(const JsonValue& service) {
    return service["stale"].truth ? "stale" : "connected";
}

const std::vector<std::string> service_headings{"NAME",    "IDENTITY", "STATE",   "REMAINING",
                                                "ADDRESS", "ALPN",     "METADATA"};

Table::Row service_row(const JsonValue& service) {
    const bool stale = service["stale"].truth;
    const auto left = ms_of(service["expires_in_ms"]);
    return {{service["name"].text, Colour::bold},
            {service["identity"].text},
            {state_of(service), stale ? Colour::yellow : Colour::green},
            {format_duration(left), left < ends_soon ? Colour::yellow : Colour::none},
            {service["address"].text},
            {joined(service["alpn"].items)},
            {metadata_text(service), Colour::dim}};
}

/// Prints changes of the services, including those made while the stream was interrupted.
class ServiceWatch {
 public:
    explicit ServiceWatch(const Screen& screen) : screen_(screen) {}

    void on_connected() { listed_.clear(); }

    void on_event(const StreamEvent& event) {
        const auto read = read_json_object(event.data, answer_limits);
        if (!read) return;
        const JsonValue& service = *read;
        if (event.type == "listed") return listed();
        const std::string name = service["name"].text;
        if (event.type == "gone") {
            known_.erase(name);
            return show("gone", service);
        }
        listed_.insert(name);
        const bool is_known = known_.contains(name);
        if (is_known && is_same(known_.at(name), service)) return;
        known_[name] = service;
        show(is_known ? "updated" : event.type == "service" && !listed_once_ ? "service" : "registered", service);
    }

 private:
    static bool is_same(const JsonValue& one, const JsonValue& other) {
        return one["token"].number == other["token"].number && state_of(one) == state_of(other);
    }

    void listed() {
        for (auto one = known_.begin(); one != known_.end();) {
            if (!listed_.contains(one->first)) {
                show("gone", one->second);
                one = known_.erase(one);
            } else {
                ++one;
            }
        }
        if (!listed_once_ && known_.empty()) screen_.note("no services yet");
        listed_once_ = true;
    }

    void show(std::string_view type, const JsonValue& service) const {
        if (screen_.json()) return screen_.show(JsonValue::object({{"type", type}, {"service", service}}));
        const Colour colour = type == "gone" ? Colour::yellow : type == "service" ? Colour::none : Colour::green;
        const std::string state =
            type == "gone" ? "" : fmt::format("  {}  {}", state_of(service), printable(service["address"].text));
        screen_.line(fmt::format("{}  {}  {}{}", coloured(fmt::format("{:10}", type), colour, screen_.colours()),
                                 printable(service["name"].text), service["identity"].text, state));
    }

    const Screen& screen_;
    std::map<std::string, JsonValue> known_;
    std::set<std::string> listed_;  ///< on this connection
    bool listed_once_ = false;
};

int watch_services(const Arguments& arguments) {
    const Screen screen{arguments.common};
    ServiceWatch watch{screen};
    const std::string target = with_query("/v1/service-events", {{"name", arguments.discover.name}});
    return EventFollower{arguments.common,
                         target,
                         {[&](const StreamEvent& event) { watch.on_event(event); }, [&] { watch.on_connected(); }}}
        .run();
}

int show_service(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get("/v1/services/" + percent_encode(arguments.discover.name));
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    Table table{service_headings};
    table.add(service_row(answer->body["service"]));
    screen.show(table);
    return exit_ok;
}

int list_services(const Arguments& arguments) {
    const std::string& glob = arguments.discover.name;
    return show_list(arguments.common, {.target = with_query("/v1/services", {{"limit", "1000"}, {"name", glob}}),
                                        .items = "services",
                                        .headings = service_headings,
                                        .row = service_row,
                                        .none = glob.empty() ? "no services" : "no services with such a name"});
}

}  // namespace

int discover_command(const Arguments& arguments) {
    if (arguments.discover.watch) return watch_services(arguments);
    const std::string& name = arguments.discover.name;
    return name.empty() || is_glob(name) ? list_services(arguments) : show_service(arguments);
}

}  // namespace holdfast::cli
