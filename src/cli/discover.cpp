#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

/// Below this a service is shown as about to end.
constexpr auto ends_soon = 10s;

bool is_glob(const std::string& text) {
    return text.find_first_of("*?[") != std::string::npos;
}

std::string joined(const json::array& names) {
    std::string text;
    for (const json::value& name : names)
        if (name.is_string()) text.append(text.empty() ? "" : ",").append(name.as_string().c_str());
    return text;
}

std::string metadata_text(const json::value& service) {
    const json::value& metadata = field_of(service, "metadata");
    std::string text;
    if (!metadata.is_object()) return text;
    for (const auto& [key, value] : metadata.as_object()) {
        const std::string name(key.begin(), key.end());
        text.append(text.empty() ? "" : " ").append(name).append("=").append(text_of(metadata, name));
    }
    return text;
}

std::string state_of(const json::value& service) {
    return flag_of(service, "stale") ? "stale" : "connected";
}

const std::vector<std::string> service_headings{"NAME",    "IDENTITY", "STATE",   "REMAINING",
                                                "ADDRESS", "ALPN",     "METADATA"};

Table::Row service_row(const json::value& service) {
    const bool stale = flag_of(service, "stale");
    const std::chrono::milliseconds left{number_of(service, "expires_in_ms")};
    return {{text_of(service, "name"), Colour::bold},
            {text_of(service, "identity")},
            {state_of(service), stale ? Colour::yellow : Colour::green},
            {format_duration(left), left < ends_soon ? Colour::yellow : Colour::none},
            {text_of(service, "address")},
            {joined(array_of(service, "alpn"))},
            {metadata_text(service), Colour::dim}};
}

/// Prints changes of the services, including those made while the stream was interrupted.
class ServiceWatch {
 public:
    explicit ServiceWatch(const Screen& screen) : screen_(screen) {}

    void on_connected() { listed_.clear(); }

    void on_event(const StreamEvent& event) {
        boost::system::error_code malformed;
        const json::value service = json::parse(event.data, malformed);
        if (malformed) return;
        if (event.type == "listed") return listed();
        const std::string name = text_of(service, "name");
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
    static bool is_same(const json::value& one, const json::value& other) {
        return number_of(one, "token") == number_of(other, "token") && state_of(one) == state_of(other);
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

    void show(std::string_view type, const json::value& service) const {
        if (screen_.json()) return screen_.show(json::value{{"type", type}, {"service", service}});
        const Colour colour = type == "gone" ? Colour::yellow : type == "service" ? Colour::none : Colour::green;
        const std::string state =
            type == "gone" ? "" : fmt::format("  {}  {}", state_of(service), printable(text_of(service, "address")));
        screen_.line(fmt::format("{}  {}  {}{}", coloured(fmt::format("{:10}", type), colour, screen_.colours()),
                                 printable(text_of(service, "name")), text_of(service, "identity"), state));
    }

    const Screen& screen_;
    std::map<std::string, json::value> known_;
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
    table.add(service_row(field_of(answer->body, "service")));
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
