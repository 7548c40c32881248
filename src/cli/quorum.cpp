#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr auto ask_again_after = 200ms;
constexpr auto least_time_to_answer = 1s;  // also at the end of a wait

std::string duration_of(const json::value& object, std::string_view field) {
    return format_duration(std::chrono::milliseconds{number_of(object, field)});
}

/// `-` for one that was not measured.
std::string round_trip_of(const json::value& member) {
    const json::value& rtt = field_of(member, "rtt_ms");
    if (!rtt.is_number()) return "-";
    std::array<char, 32> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.2fms", rtt.to_number<double>());
    return {text.data(), static_cast<std::size_t>(length)};
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
    return printable(text_of(status, "node")) + " reaches " + count_of(status, "reachable") + " of " +
           std::to_string(array_of(status, "members").size()) + " nodes, and " + std::to_string(voting(status)) +
           (voting(status) == 1 ? " votes: " : " vote: ") +
           coloured(verdict, has_majority(status) ? Colour::green : Colour::red, colours);
}

std::string describe_log(const json::value& status) {
    const json::value& leader = field_of(status, "leader");
    const json::value& log = field_of(status, "log");
    const std::string led = leader.is_object() ? "led by " + printable(text_of(leader, "id")) + " with token " +
                                                     count_of(leader, "token") + " for another " +
                                                     duration_of(leader, "expires_in_ms") + " unless renewed"
                                               : "led by nobody";
    if (!log.is_object()) return "log: " + led;
    return "log: " + led + "; " + count_of(log, "committed") + " committed, " + count_of(log, "applied") +
           " applied here";
}

std::string describe_attempts(const json::value& status) {
    const json::value& attempts = field_of(status, "attempts");
    return "attempts: " + count_of(attempts, "all") + ", of which " + count_of(attempts, "one_round") +
           " took one round, " + count_of(attempts, "failed") + " failed and " + count_of(attempts, "given_up") +
           " were given up";
}

void show(const Screen& screen, const json::value& status) {
    screen.show(members_table(status));
    screen.line(describe_reach(status, screen.colours()));
    if (!flag_of(status, "founded"))
        screen.line(coloured("not founded yet: nothing is granted until all members have met for the first time",
                             Colour::yellow, screen.colours()));
    if (number_of(status, "silent_for_ms") > 0)
        screen.line(coloured(
            "silent for another " + duration_of(status, "silent_for_ms") + ", since it lost what it knew in a restart",
            Colour::yellow, screen.colours()));
    screen.line(describe_log(status));
    screen.line(describe_attempts(status));
}

/// Returns the last answer before the timeout, which also bounds the wait for a node that hangs.
Result<Answer> wait_until_all_vote(Api& api, Duration timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        const Duration left = deadline - std::chrono::steady_clock::now();
        auto answer = api.get_within(std::max<Duration>(left, least_time_to_answer), "/v1/quorum");
        // No answer: a restarting node is unreachable only for a moment. An error is final: the server is not in a
        // cluster.
        const bool is_settled = answer && (!answer->ok() || all_vote(answer->body));
        if (is_settled || std::chrono::steady_clock::now() >= deadline) return answer;
        std::this_thread::sleep_for(ask_again_after);
    }
}

}  // namespace

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
        show(screen, answer->body);
    if (waits) return all_vote(answer->body) ? exit_ok : exit_failed;
    return has_majority(answer->body) && flag_of(answer->body, "founded") ? exit_ok : exit_failed;
}

}  // namespace holdfast
