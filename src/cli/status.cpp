#include <algorithm>
#include <array>
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

using Kind = JsonValue::Kind;

/// The interval of requests while waiting for all members to vote.
constexpr auto quorum_pause = 200ms;
constexpr auto min_timeout = 1s;  // also at the end of a wait

/// `-` if it was not measured.
std::string round_trip_of(const JsonValue& member) {
    const JsonValue& rtt = member["rtt_ms"];
    if (!rtt.is(Kind::number)) return "-";
    return fmt::format("{:.2f}ms", std::strtod(rtt.text.c_str(), nullptr));
}

Table::Cell member_state(const JsonValue& member) {
    const std::string refusal = member["refusal"].text;
    const bool silent = member["silent_for_ms"].number > 0;
    const std::string silence = silent ? ", silent for " + duration_of(member["silent_for_ms"]) : "";
    if (member["self"].truth) return {"itself" + silence, silent ? Colour::yellow : Colour::dim};
    if (member["connected"].truth) return {"connected" + silence, silent ? Colour::yellow : Colour::green};
    return {refusal.empty() ? "not connected" : "refused: " + refusal, Colour::red};
}

Table members_table(const JsonValue& status) {
    const std::string leader = status["leader"]["id"].text;
    Table table{{"NODE", "ADDRESS", "STATE", "ROUND TRIP", "BOOT", "QUEUED", "DROPPED", "LOG"}};
    for (const JsonValue& member : status["members"].items) {
        const std::string id = member["id"].text;
        const JsonValue& boot = member["boot"];
        table.add({{id, Colour::bold},
                   {member["address"].text},
                   member_state(member),
                   {round_trip_of(member)},
                   {boot.number == 0 ? "-" : boot.text},
                   {member["queued_bytes"].text},
                   {member["dropped"].text, member["dropped"].number > 0 ? Colour::yellow : Colour::none},
                   {id == leader ? "leads" : ""}});
    }
    return table;
}

/// The number of voting members. A server of an earlier version reports only which members are connected.
std::uint64_t voting(const JsonValue& status) {
    return status[status["voting"].is(Kind::number) ? "voting" : "reachable"].number;
}

bool has_majority(const JsonValue& status) {
    return voting(status) >= status["majority"].number;
}

bool all_vote(const JsonValue& status) {
    return status["founded"].truth && voting(status) == status["members"].items.size();
}

std::string describe_reach(const JsonValue& status, bool colours) {
    const std::string verdict = has_majority(status) ? "a majority" : "no majority";
    return fmt::format("{} reaches {} of {} nodes, and {} {}: {}", printable(status["node"].text),
                       status["reachable"].text, status["members"].items.size(), voting(status),
                       voting(status) == 1 ? "votes" : "vote",
                       coloured(verdict, has_majority(status) ? Colour::green : Colour::red, colours));
}

std::string describe_log(const JsonValue& status) {
    const JsonValue& leader = status["leader"];
    const JsonValue& log = status["log"];
    const std::string led =
        leader.is(Kind::object)
            ? fmt::format("led by {} with token {} for another {} unless renewed", printable(leader["id"].text),
                          leader["token"].text, duration_of(leader["expires_in_ms"]))
            : "led by nobody";
    if (!log.is(Kind::object)) return "log: " + led;
    return fmt::format("log: {}; {} committed, {} applied here", led, log["committed"].text, log["applied"].text);
}

std::string describe_attempts(const JsonValue& status) {
    const JsonValue& attempts = status["attempts"];
    return fmt::format("attempts: {}, of which {} took one round, {} failed and {} were given up", attempts["all"].text,
                       attempts["one_round"].text, attempts["failed"].text, attempts["given_up"].text);
}

void show_quorum(const Screen& screen, const JsonValue& status) {
    screen.show(members_table(status));
    screen.line(describe_reach(status, screen.colours()));
    if (!status["founded"].truth)
        screen.line(
            coloured("not founded yet: nothing is granted until all members have been connected for the first time",
                     Colour::yellow, screen.colours()));
    if (status["silent_for_ms"].number > 0)
        screen.line(coloured(fmt::format("silent for another {}, since it lost what it knew in a restart",
                                         duration_of(status["silent_for_ms"])),
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

std::string value_text(std::string_view field, const JsonValue& value) {
    if (value.is(Kind::boolean)) return value.truth ? "yes" : "no";
    if (value.is(Kind::array)) {
        std::string all;
        for (const JsonValue& item : value.items)
            all += (all.empty() ? "" : ", ") + value_text("", item);
        return all.empty() ? "-" : all;
    }
    if (value.is(Kind::object)) return to_text(value);
    if (!value.is(Kind::number)) return value.text.empty() ? "-" : value.text;
    if (value.whole && field.ends_with("_ms")) return duration_of(value);
    return value.text + (field.ends_with("_us") ? " us" : "");
}

/// Prints all fields of the answer, including those that this version does not know: one line each, nested ones
/// indented.
void show_fields(const Screen& screen, const JsonValue& object, const std::string& indent) {
    for (const auto& [field, value] : object.members) {
        if (value.is(Kind::object)) {
            screen.line(fmt::format("{}{}:", indent, label_of(field)));
            show_fields(screen, value, indent + "  ");
        } else if (indent.size() > 2 || !is_in_headline(field)) {
            screen.line(fmt::format("{}{}: {}", indent, label_of(field), value_text(field, value)));
        }
    }
}

std::string headline(const JsonValue& store, bool colours) {
    const JsonValue& places = store["addresses"];
    const std::string address = places.is(Kind::array) ? value_text("", places) : store["address"].text;
    const std::string why = store["why"].text;
    const bool reachable = store["reachable"].truth;
    return fmt::format(
        "{}{}: {}{}", printable(store["engine"].text), address.empty() ? "" : " at " + printable(address),
        coloured(reachable ? "reachable" : "not reachable", reachable ? Colour::green : Colour::red, colours),
        why.empty() ? "" : ": " + printable(why));
}

std::string describe_readiness(const JsonValue& ready, bool colours) {
    if (ready["ready"].truth) return coloured("ready: leases are granted here", Colour::green, colours);
    const std::string reason = ready["reason"].text;
    const auto left = ms_of(ready["retry_in_ms"]);
    return fmt::format("{} ({}{}){}", coloured("not ready", Colour::yellow, colours), printable(ready["code"].text),
                       left.count() > 0 ? ", for another " + format_duration(left) : "",
                       reason.empty() ? "" : ": " + printable(reason));
}

}  // namespace

int health_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get("/health");
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const std::string status = answer->body["status"].text;
    const auto left = ms_of(answer->body["recovering_for_ms"]);
    const std::string reason = answer->body["reason"].text;
    Table table{{"STATUS", "VERSION", "ACTIVE LEASES", "WAITERS"}};
    table.add({{status == "recovering" ? status + " for " + format_duration(left) : status,
                status == "ok" ? Colour::green : Colour::yellow},
               {answer->body["version"].text},
               {answer->body["active_leases"].text},
               {answer->body["waiters"].text}});
    screen.show(table);
    if (!reason.empty()) screen.line(printable(reason));
    return exit_ok;
}

int quorum_status_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const bool waits = arguments.quorum.wait_voting;
    auto answer = waits ? wait_until_all_vote(api, arguments.quorum.timeout) : api.get("/v1/quorum");
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    if (screen.json())
        screen.show(answer->body);
    else
        show_quorum(screen, answer->body);
    if (waits) return all_vote(answer->body) ? exit_ok : exit_failed;
    return has_majority(answer->body) && answer->body["founded"].truth ? exit_ok : exit_failed;
}

int store_status_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto store = api.get("/v1/store");
    if (const auto exit_code = failed(screen, store)) return *exit_code;
    const auto ready = api.get("/ready");
    if (!ready) return fail(screen, ready.error());
    if (!ready->body["ready"].is(Kind::boolean)) return fail(screen, *ready);  // refused before the check
    if (screen.json()) {
        screen.show(JsonValue(ready->body).set("store", store->body));
    } else {
        screen.line(headline(store->body, screen.colours()));
        show_fields(screen, store->body, "  ");
        screen.line(describe_readiness(ready->body, screen.colours()));
    }
    return ready->body["ready"].truth ? exit_ok : exit_not_now;
}

int version_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    if (screen.json())
        screen.show(JsonValue::object({{"version", version()}}));
    else
        screen.line(std::string("holdfast ") + version());
    return exit_ok;
}

}  // namespace holdfast::cli
