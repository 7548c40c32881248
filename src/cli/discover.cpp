#include <boost/json/parse.hpp>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/event_follower.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

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

Table services_table(const json::array& services) {
    Table table{{"NAME", "IDENTITY", "STATE", "REMAINING", "ADDRESS", "ALPN", "METADATA"}};
    for (const json::value& service : services) {
        const bool stale = flag_of(service, "stale");
        const std::chrono::milliseconds left{number_of(service, "expires_in_ms")};
        table.add({{text_of(service, "name"), Colour::bold},
                   {text_of(service, "identity")},
                   {state_of(service), stale ? Colour::yellow : Colour::green},
                   {format_duration(left), left < ends_soon ? Colour::yellow : Colour::none},
                   {text_of(service, "address")},
                   {joined(array_of(service, "alpn"))},
                   {metadata_text(service), Colour::dim}});
    }
    return table;
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
        std::string word(type);
        word.append(type.size() < 10 ? 10 - type.size() : 0, ' ');
        std::string line = coloured(word, colour, screen_.colours()) + "  " + printable(text_of(service, "name")) +
                           "  " + text_of(service, "identity");
        if (type != "gone") line += "  " + state_of(service) + "  " + printable(text_of(service, "address"));
        screen_.line(line);
    }

    const Screen& screen_;
    std::map<std::string, json::value> known_;
    std::set<std::string> listed_;  // on this connection
    bool listed_once_ = false;
};

int watch_services(const Arguments& arguments) {
    const Screen screen{arguments.common};
    ServiceWatch watch{screen};
    const std::string& name = arguments.discover.name;
    const std::string target = "/v1/service-events" + (name.empty() ? "" : "?name=" + percent_encode(name));
    return EventFollower{arguments.common,
                         target,
                         {[&](const StreamEvent& event) { watch.on_event(event); }, [&] { watch.on_connected(); }}}
        .run();
}

int show_service(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get("/v1/services/" + percent_encode(arguments.discover.name));
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else
        screen.show(services_table(json::array{field_of(answer->body, "service")}));
    return exit_ok;
}

int list_services(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& glob = arguments.discover.name;
    const auto answer =
        api.get_all("/v1/services?limit=1000" + (glob.empty() ? "" : "&name=" + percent_encode(glob)), "services");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "services").empty())
        screen.note(glob.empty() ? "no services" : "no services with such a name");
    else
        screen.show(services_table(array_of(answer->body, "services")));
    return exit_ok;
}

}  // namespace

int discover_command(const Arguments& arguments) {
    if (arguments.discover.watch) return watch_services(arguments);
    const std::string& name = arguments.discover.name;
    return name.empty() || is_glob(name) ? list_services(arguments) : show_service(arguments);
}

}  // namespace holdfast
