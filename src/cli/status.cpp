#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <fmt/format.h>
#include <string>
#include <thread>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

/// The interval of requests while waiting for all members to vote.
constexpr auto quorum_pause = 200ms;
constexpr auto min_timeout = 1s;  // also at the end of a wait

std::string duration_of(const json::value& object, std::string_view field) {
    return format_duration(std::chrono::milliseconds{number_of(object, field)});
}

/// `-` if it was not measured.
std::string round_trip_of(const json::value& member) {
    const json::value& rtt = field_of(member, "rtt_ms");
    if (!rtt.is_number()) return "-";
    return fmt::format("{:.2f}ms", rtt.to_number<double>());
}

Table::Cell member_state(const json::value& member) {
    const std::string refusal = text_of(member, "refusal");
    const bool silent = number_of(member, "silent_for_ms") > 0;
    const std::string silence = silent ? ", silent for " + duration_of(member, "silent_for_ms") : "";
    if (flag_of(member, "self")) return {"itself" + silence, silent ? Colour::yellow : Colour::dim};
    if (flag_of(member, "connected")) return {"connected" + silence, silent ? Colour::yellow : Colour::green};
    return {refusal.empty() ? "not connected" : "refused: " + refusal, Colour::red};
}

Table members_table(const json::value& status) {
    const std::string leader = text_of(field_of(status, "leader"), "id");
    Table table{{"NODE", "ADDRESS", "STATE", "ROUND TRIP", "BOOT", "QUEUED", "DROPPED", "LOG"}};
    for (const json::value& member : array_of(status, "members")) {
        const std::string id = text_of(member, "id");
        const auto boot = number_of(member, "boot");
        table.add({{id, Colour::bold},
                   {text_of(member, "address")},
                   member_state(member),
                   {round_trip_of(member)},
                   {boot == 0 ? "-" : std::to_string(boot)},
                   {count_of(member, "queued_bytes")},
                   {count_of(member, "dropped"), number_of(member, "dropped") > 0 ? Colour::yellow : Colour::none},
                   {id == leader ? "leads" : ""}});
    }
    return table;
}

/// The number of voting members. A server of an earlier version reports only which members are connected.
std::int64_t voting(const json::value& status) {
    return number_of(status, field_of(status, "voting").is_number() ? "voting" : "reachable");
}

bool has_majority(const json::value& status) {
    return voting(status) >= number_of(status, "majority");
}

bool all_vote(const json::value& status) {
    return flag_of(status, "founded") &&
           voting(status) == static_cast<std::int64_t>(array_of(status, "members").size());
}

std::string describe_reach(const json::value& status, bool colours) {
    const std::string verdict = has_majority(status) ? "a majority" : "no majority";
    return fmt::format("{} reaches {} of {} nodes, and {} {}: {}", printable(text_of(status, "node")),
                       count_of(status, "reachable"), array_of(status, "members").size(), voting(status),
                       voting(status) == 1 ? "votes" : "vote",
                       coloured(verdict, has_majority(status) ? Colour::green : Colour::red, colours));
}

std::string describe_log(const json::value& status) {
    const json::value& leader = field_of(status, "leader");
    const json::value& log = field_of(status, "log");
    const std::string led =
        leader.is_object()
            ? fmt::format("led by {} with token {} for another {} unless renewed", printable(text_of(leader, "id")),
                          count_of(leader, "token"), duration_of(leader, "expires_in_ms"))
            : "led by nobody";
    if (!log.is_object()) return "log: " + led;
    return fmt::format("log: {}; {} committed, {} applied here", led, count_of(log, "committed"),
                       count_of(log, "applied"));
}

std::string describe_attempts(const json::value& status) {
    const json::value& attempts = field_of(status, "attempts");
    return fmt::format("attempts: {}, of which {} took one round, {} failed and {} were given up",
                       count_of(attempts, "all"), count_of(attempts, "one_round"), count_of(attempts, "failed"),
                       count_of(attempts, "given_up"));
}

void show_quorum(const Screen& screen, const json::value& status) {
    screen.show(members_table(status));
    screen.line(describe_reach(status, screen.colours()));
    if (!flag_of(status, "founded"))
        screen.line(
            coloured("not founded yet: nothing is granted until all members have been connected for the first time",
                     Colour::yellow, screen.colours()));
    if (number_of(status, "silent_for_ms") > 0)
        screen.line(coloured(fmt::format("silent for another {}, since it lost what it knew in a restart",
                                         duration_of(status, "silent_for_ms")),
                             Colour::yellow, screen.colours()));
    screen.line(describe_log(status));
    screen.line(describe_attempts(status));
}

/// Returns the last answer before the timeout, which also bounds the wait for a node that hangs.
Result<Answer> wait_until_all_vote(Api& api, Duration timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        const Duration left = deadline - std::chrono::steady_clock::now();
        auto answer = api.get_within(std::max<Duration>(left, min_timeout), "/v1/quorum");
        // A restarting node is unreachable only for a moment. A refusal is final: the server is not in a cluster.
        const bool is_settled = answer && (!answer->ok() || all_vote(answer->body));
        if (is_settled || std::chrono::steady_clock::now() >= deadline) return answer;
        std::this_thread::sleep_for(quorum_pause);
    }
}

/// True for the fields that the first line shows.
bool is_in_headline(std::string_view field) {
    static constexpr std::array<std::string_view, 5> fields{"engine", "address", "addresses", "reachable", "why"};
    return std::find(fields.begin(), fields.end(), field) != fields.end();
}

/// A field of the answer as a person would write it: `round_trip_us` is `round trip`. Its unit is shown with the value.
std::string label_of(std::string_view field) {
    for (const std::string_view unit : {"_us", "_ms"})
        if (field.ends_with(unit)) field.remove_suffix(unit.size());
    std::string label(field);
    std::replace(label.begin(), label.end(), '_', ' ');
    return label;
}

std::string value_text(std::string_view field, const json::value& value) {
    if (value.is_null()) return "-";
    if (value.is_bool()) return value.get_bool() ? "yes" : "no";
    if (value.is_string()) return value.get_string().empty() ? "-" : std::string(value.get_string());
    if (const auto* items = value.if_array()) {
        std::string all;
        for (const json::value& item : *items)
            all += (all.empty() ? "" : ", ") + value_text("", item);
        return all.empty() ? "-" : all;
    }
    if (value.is_int64() && field.ends_with("_ms"))
        return format_duration(std::chrono::milliseconds{value.get_int64()});
    return json::serialize(value) + (field.ends_with("_us") ? " us" : "");
}

/// Prints all fields of the answer, including those that this version does not know: one line each, nested ones
/// indented.
void show_fields(const Screen& screen, const json::object& object, const std::string& indent) {
    for (const auto& [field, value] : object) {
        if (const auto* nested = value.if_object()) {
            screen.line(indent + label_of(field) + ":");
            show_fields(screen, *nested, indent + "  ");
        } else if (indent.size() > 2 || !is_in_headline(field)) {
            screen.line(indent + label_of(field) + ": " + value_text(field, value));
        }
    }
}

std::string headline(const json::value& store, bool colours) {
    const json::value& places = field_of(store, "addresses");
    const std::string address = places.is_array() ? value_text("", places) : text_of(store, "address");
    const std::string why = text_of(store, "why");
    const bool reachable = flag_of(store, "reachable");
    return fmt::format(
        "{}{}: {}{}", printable(text_of(store, "engine")), address.empty() ? "" : " at " + printable(address),
        coloured(reachable ? "reachable" : "not reachable", reachable ? Colour::green : Colour::red, colours),
        why.empty() ? "" : ": " + printable(why));
}

std::string describe_readiness(const json::value& ready, bool colours) {
    if (flag_of(ready, "ready")) return coloured("ready: leases are granted here", Colour::green, colours);
    const std::string reason = text_of(ready, "reason");
    const auto left = std::chrono::milliseconds{number_of(ready, "retry_in_ms")};
    return fmt::format("{} ({}{}){}", coloured("not ready", Colour::yellow, colours), printable(text_of(ready, "code")),
                       left.count() > 0 ? ", for another " + format_duration(left) : "",
                       reason.empty() ? "" : ": " + printable(reason));
}

}  // namespace

int health_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get("/health");
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const std::string status = text_of(answer->body, "status");
    const auto left = std::chrono::milliseconds{number_of(answer->body, "recovering_for_ms")};
    const std::string reason = text_of(answer->body, "reason");
    Table table{{"STATUS", "VERSION", "ACTIVE LEASES", "WAITERS"}};
    table.add({{status == "recovering" ? status + " for " + format_duration(left) : status,
                status == "ok" ? Colour::green : Colour::yellow},
               {text_of(answer->body, "version")},
               {count_of(answer->body, "active_leases")},
               {count_of(answer->body, "waiters")}});
    screen.show(table);
    if (!reason.empty()) screen.line(printable(reason));
    return exit_ok;
}

int quorum_status_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const bool waits = arguments.quorum.wait_voting;
    auto answer = waits ? wait_until_all_vote(api, arguments.quorum.timeout) : api.get("/v1/quorum");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else
        show_quorum(screen, answer->body);
    if (waits) return all_vote(answer->body) ? exit_ok : exit_failed;
    return has_majority(answer->body) && flag_of(answer->body, "founded") ? exit_ok : exit_failed;
}

int store_status_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto store = api.get("/v1/store");
    if (!store) return fail(screen, store.error());
    if (!store->ok()) return fail(screen, *store);
    const auto ready = api.get("/ready");
    if (!ready) return fail(screen, ready.error());
    if (!field_of(ready->body, "ready").is_bool()) return fail(screen, *ready);  // refused before the check
    if (screen.json()) {
        json::object both = ready->body.as_object();
        both["store"] = store->body;
        screen.show(both);
    } else {
        screen.line(headline(store->body, screen.colours()));
        if (const auto* fields = store->body.if_object()) show_fields(screen, *fields, "  ");
        screen.line(describe_readiness(ready->body, screen.colours()));
    }
    return flag_of(ready->body, "ready") ? exit_ok : exit_not_now;
}

int version_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    if (screen.json())
        screen.show(json::value{{"version", version()}});
    else
        screen.line(std::string("holdfast ") + version());
    return exit_ok;
}

}  // namespace holdfast::cli
