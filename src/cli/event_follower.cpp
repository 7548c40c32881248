#include "cli/event_follower.h"

#include <boost/json/parse.hpp>
#include <utility>

#include "base/text.h"
#include "cli/exit_codes.h"

namespace holdfast {

std::optional<StreamEvent> EventReader::line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) {
        if (!id_.empty()) last_id_ = id_;
        id_.clear();
        StreamEvent done = std::exchange(event_, {});
        if (done.type.empty() && done.data.empty()) return std::nullopt;
        return done;
    }
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;  // a comment, or a field without value
    const std::string_view field = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "id") id_ = value;
    if (field == "event") event_.type = value;
    if (field == "data") event_.data.append(event_.data.empty() ? "" : "\n").append(value);
    return std::nullopt;
}

void EventReader::restart() {
    event_ = {};
    id_.clear();
}

namespace {

constexpr auto reconnect_pause_min = 200ms;
constexpr auto max_reconnect_pause = 5000ms;

}  // namespace

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

EventFollower::EventFollower(const CommonOptions& options, std::string target, Reader reader)
    : screen_(options),
      api_(options),
      ask_(options),
      target_(std::move(target)),
      reader_(std::move(reader)),
      stop_([this] {
          api_.connection().stop();
          ask_.connection().stop();
      }) {}

int EventFollower::run() {
    auto pause = reconnect_pause_min;
    for (;;) {
        const auto answer = follow();
        if (stopped()) return exit_ok;
        if (answer && answer->status != 200) {
            boost::system::error_code malformed;
            return fail(screen_, Answer{answer->status, boost::json::parse(answer->body, malformed)});
        }
        const Error error = answer ? Error{"unreachable", "the stream ended"} : answer.error();
        if (!connected_once_) return fail(screen_, error);
        if (connected_) screen_.note(error.message + "; trying to reconnect");
        if (connected_) pause = reconnect_pause_min;
        connected_ = false;
        stop_.sleep_for(pause);
        pause = std::min(pause * 2, max_reconnect_pause);
    }
}

Result<HttpResponse> EventFollower::follow() {
    events_.restart();
    return api_.connection().stream({"GET", target_, "", events_.last_id()}, [this](std::string_view line) {
        on_connected();
        if (const auto event = events_.line(line)) reader_.on_event(*event);
        return !stopped();
    });
}

void EventFollower::on_connected() {
    if (connected_) return;
    if (connected_once_) screen_.note("connected again to " + api_.connection().server());
    connected_ = connected_once_ = true;
    if (reader_.on_connected) reader_.on_connected();
}

}  // namespace holdfast
