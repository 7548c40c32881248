#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/event_reader.h"
#include "cli/exit_codes.h"
#include "cli/stop_on_signal.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr auto reconnect_pause_min = 200ms;
constexpr auto reconnect_pause_max = 5000ms;

std::string events_target(const FilterOptions& filter) {
    std::string query;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (value.empty()) return;
        query += query.empty() ? '?' : '&';
        query.append(name).append("=").append(percent_encode(value));
    };
    if (filter.renewed) add("renewed", "true");
    add("holder", filter.holder);
    add("prefix", filter.prefix);
    add("namespace", filter.name_space);
    return "/v1/events" + query;
}

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

/// Follows the stream over reconnects until a signal ends it.
class Watch {
 public:
    explicit Watch(const Arguments& arguments)
        : screen_(arguments.common),
          api_(arguments.common),
          target_(events_target(arguments.filter)),
          stop_([this] { api_.connection().stop(); }) {}

    int run() {
        auto pause = reconnect_pause_min;
        for (;;) {
            const auto answer = follow();
            if (stop_.signal() != 0) return exit_ok;
            if (answer && answer->status != 200) return refused(*answer);
            const Error error = answer ? Error{"unreachable", "the stream ended"} : answer.error();
            if (!connected_once_) return fail(screen_, error);
            if (connected_) screen_.note(error.message + "; trying to reconnect");
            if (connected_) pause = reconnect_pause_min;
            connected_ = false;
            stop_.sleep_for(pause);
            pause = std::min(pause * 2, reconnect_pause_max);
        }
    }

 private:
    Result<HttpResponse> follow() {
        reader_.restart();
        return api_.connection().stream({"GET", target_, "", reader_.last_id()}, [this](std::string_view line) {
            on_connected();
            if (const auto event = reader_.line(line)) show(*event);
            return stop_.signal() == 0;
        });
    }

    void on_connected() {
        if (connected_once_ && !connected_) screen_.note("connected again to " + api_.server());
        connected_ = connected_once_ = true;
    }

    void show(const StreamEvent& event) const {
        if (event.type == "missed") {
            screen_.complain("some events were missed; 'holdfast list' shows how things are now");
            if (screen_.json()) screen_.show(json::value{{"type", "missed"}});
            return;
        }
        boost::system::error_code malformed;
        const json::value data = json::parse(event.data, malformed);
        if (malformed) return;
        if (screen_.json())
            screen_.show(data);
        else
            screen_.line(line_of(data, screen_.colours()));
    }

    int refused(const HttpResponse& response) const {
        boost::system::error_code malformed;
        return fail(screen_, Answer{response.status, json::parse(response.body, malformed)});
    }

    Screen screen_;
    Api api_;
    std::string target_;
    EventReader reader_;
    bool connected_ = false;
    bool connected_once_ = false;
    StopOnSignal stop_;
};

}  // namespace

int watch_command(const Arguments& arguments) {
    return Watch{arguments}.run();
}

}  // namespace holdfast
