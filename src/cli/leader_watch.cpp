#include "cli/leader_watch.h"

#include <boost/json/parse.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "election/candidate.h"

namespace holdfast {
namespace {

namespace json = boost::json;

LeaderTerm term_of(const json::value& object, std::string_view holder) {
    return {text_of(object, holder), static_cast<std::uint64_t>(number_of(object, "token"))};
}

FilterOptions filter_of(const std::string& resource) {
    FilterOptions filter;
    filter.prefix = resource;
    filter.name_space = "default";
    return filter;
}

}  // namespace

LeaderWatch::LeaderWatch(const Arguments& arguments)
    : group_(arguments.elect.group),
      resource_(core::leader_resource(group_)),
      screen_(arguments.common),
      follower_(arguments.common, events_target(filter_of(resource_)),
                {[this](const StreamEvent& event) { on_event(event); }, [this] { look_again(); }}) {}

int LeaderWatch::run() {
    const auto answer = look();
    if (follower_.stopped()) return exit_ok;
    if (!answer) return fail(screen_, answer.error());
    if (!answer->ok()) return fail(screen_, *answer);
    return follower_.run();
}

Result<Answer> LeaderWatch::look() {
    auto answer = follower_.ask().get("/v1/leaders/" + percent_encode(group_));
    if (!answer || !answer->ok()) return answer;
    resource_ = text_of(answer->body, "resource");
    std::optional<LeaderTerm> term;
    if (field_of(answer->body, "leader").is_string()) term = term_of(answer->body, "leader");
    if (view_.looked(std::move(term))) show("now", format_wall_time(wall_clock_ms()));
    return answer;
}

/// The stream tells what happens from here on; what happened before it began is found by asking.
void LeaderWatch::look_again() {
    const auto answer = look();
    if (follower_.stopped() || (answer && answer->ok())) return;
    screen_.note("cannot ask who leads: " + (answer ? error_code_of(*answer) : answer.error().message));
}

void LeaderWatch::on_event(const StreamEvent& event) {
    if (event.type == "missed") return look_again();
    boost::system::error_code malformed;
    const json::value data = json::parse(event.data, malformed);
    if (malformed || text_of(data, "resource") != resource_ || text_of(data, "predicate") != "MUTATES") return;
    const std::string type = text_of(data, "type");
    LeaderTerm term = term_of(data, "holder");
    const bool ends = type == "released" || type == "expired" || type == "revoked";
    if (type == "granted" ? view_.began(std::move(term)) : ends && view_.ended(term.token))
        show(type, text_of(data, "at"));
}

void LeaderWatch::show(std::string_view event, const std::string& at) const {
    const auto& term = view_.term();
    if (screen_.json()) {
        json::object line{{"group", group_}, {"leader", nullptr}, {"token", nullptr}, {"event", event}, {"at", at}};
        if (term) line["leader"] = term->leader;
        if (term) line["token"] = term->token;
        return screen_.show(line);
    }
    const std::string who = term ? printable(term->leader) : "nobody";
    std::string line = at + "  " + coloured(who, term ? Colour::green : Colour::yellow, screen_.colours()) + " leads " +
                       printable(group_);
    if (term) line += " with token " + std::to_string(term->token);
    if (!term && event != "now") line += ": " + std::string(event);
    screen_.line(line);
}

}  // namespace holdfast
