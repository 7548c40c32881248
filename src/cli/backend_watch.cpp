#include "cli/backend_watch.h"

#include <boost/json/parse.hpp>

#include "cli/backend_view.h"
#include "cli/exit_codes.h"

namespace holdfast {
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
    shown_ = line;  // a reconnect says again how it is
    return !ended_;
}

}  // namespace holdfast
