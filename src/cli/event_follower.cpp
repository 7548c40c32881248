#include "cli/event_follower.h"

#include <utility>

#include "base/backoff.h"
#include "base/text.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

constexpr Backoff::Limits reconnect_limits{200ms, 5s};

}  // namespace

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

std::string events_target(const FilterOptions& filter) {
    return with_query("/v1/events", {{"renewed", filter.renewed ? "true" : ""},
                                     {"holder", filter.holder},
                                     {"prefix", filter.prefix},
                                     {"namespace", filter.name_space}});
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
    Backoff backoff(reconnect_limits);
    for (;;) {
        const auto answer = follow();
        if (stopped()) return exit_ok;
        if (answer && answer->status != 200) return failed(screen_, api_.read(*answer)).value_or(exit_failed);
        const Error error = answer ? Error{Code::unreachable, "the stream ended"} : answer.error();
        if (!connected_once_) return fail(screen_, error);
        if (connected_) screen_.note(error.message + "; trying to reconnect");
        if (connected_) backoff.reset();
        connected_ = false;
        stop_.sleep_for(std::chrono::duration_cast<std::chrono::milliseconds>(backoff.next()));
    }
}

Result<client::HttpResponse> EventFollower::follow() {
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

}  // namespace holdfast::cli
