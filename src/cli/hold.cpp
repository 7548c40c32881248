#include <algorithm>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/code.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/guard/git_repository.h"
#include "cli/stop_on_signal.h"
#include "client/acquiring.h"
#include "client/messages.h"
#include "lease/owner.h"

namespace holdfast::cli {
namespace {

/// The wait of one request when waiting for ever; the policy cuts it to its own maximum.
constexpr Duration wait_slice = 10min;
/// The pause between retries while a server recovers or restarts.
constexpr auto retry_pause = 500ms;

/// The same identity as in `mcp` and `guard`, so that they recognize each other's leases in a work tree.
guard::WorkTreeIdentity identity_here(const guard::WorkTreeIdentity& given) {
    if (!given.holder.empty() && !given.name_space.empty()) return given;
    const auto repository = guard::GitRepository::open();
    return guard::work_tree_identity(given, repository ? &*repository : nullptr);
}

/// The holder alone: leases have their namespace in their name.
std::string holder_here(const std::string& holder) {
    return identity_here({holder, "default"}).holder;
}

std::string remaining_of(const JsonValue& object) {
    return duration_of(object["expires_in_ms"]);
}

client::AcquireAsk ask_of(const TakeOptions& take) {
    std::vector<Intent> intents;
    for (const std::string& resource : take.resources)
        intents.push_back({resource, take.predicate});
    std::string session = take.session.empty() ? client::fresh_session(intents) : take.session;
    return {.holder = take.holder,
            .session = std::move(session),
            .name_space = take.name_space,
            .intents = std::move(intents),
            .ttl = take.ttl.value_or(0s),
            .reason = take.reason,
            .idempotency_key = random_hex(16),
            .epoch = take.epoch};
}

/// Repeats the request until it is granted, refused, or the wait is over. A server cuts long waits, so one wait may
/// take several requests.
Result<Answer> acquire(Api& api, const TakeOptions& take, const Screen& screen, const StopOnSignal& stop) {
    client::AcquireAsk ask = ask_of(take);
    const HolderInstant start = holder_clock_now();
    for (;;) {
        const Duration spent = holder_clock_now() - start;
        const Duration wait = take.wait_for_ever ? wait_slice : std::max(take.wait.value_or(0s) - spent, Duration{});
        ask.wait = std::min(wait, wait_slice);
        auto answer = api.acquire(ask);
        const bool goes_on = take.wait_for_ever || holder_clock_now() - start < take.wait.value_or(0s);
        if (!answer && answer.error().code == Code::unreachable && api.has_several_servers() && goes_on &&
            stop.signal() == 0) {
            screen.note("still waiting, through another server: " + answer.error().message);
            stop.sleep_for(retry_pause);
            continue;  // with the same key: the request keeps its place (G6)
        }
        if (!answer || answer->ok()) return answer;
        const ErrorCode code = error_code_of(*answer);
        const bool pending = code == Code::idempotency_in_progress;  // from a call whose connection was lost
        const bool passes = is_temporary(*answer);
        const bool helps = pending || passes || code == Code::wait_timeout;
        if (!pending) ask.idempotency_key = random_hex(16);
        if (!helps || !goes_on || stop.signal() != 0) return answer;
        const std::string conflicts = describe(client::read_conflicts(answer->body));
        screen.note("still waiting: " + (conflicts.empty() ? std::string(code.name()) : conflicts));
        if (code != Code::wait_timeout) stop.sleep_for(retry_pause);
    }
}

void show_granted(const Screen& screen, const JsonValue& body) {
    if (screen.json()) return screen.show(body);
    for (const JsonValue& lease : body["leases"].items)
        screen.line(fmt::format("{} {}", printable(lease["id"].text), lease["token"].number));
    const JsonValue::List& leases = body["leases"].items;
    if (leases.empty()) return;
    const auto left = duration_of(leases[0]["ttl_ms"]);
    const bool leads = std::any_of(leases.begin(), leases.end(), [](const JsonValue& lease) {
        return lease::owner_of(lease["id"].text) == lease::Owner::leaders;
    });
    const std::string session = leads ? " --session " + leases[0]["session"].text : "";
    screen.note(fmt::format("held by {} for {}; keep it with 'holdfast renew', give it back with 'holdfast release{}'",
                            leases[0]["holder"].text, left, session));
}

client::NamedLeases names_of(const NamedOptions& named) {
    client::NamedLeases names{.holder = named.holder, .epoch = named.epoch, .session = named.session, .ttl = named.ttl};
    for (const std::string& lease : named.leases)
        names.leases.push_back({lease, named.progress});
    return names;
}

/// Registers the holder as an agent, if a priority is given.
Result<Answer> register_if_agent(Api& api, const TakeOptions& take) {
    if (take.priority.empty()) return Answer{200, {}};
    return register_agent(api, {take.holder, take.priority, take.epoch});
}

/// The time left of a lease, or of its reservation for an agent (R5).
std::string left_of(const JsonValue& result) {
    const std::string state = result["state"].text;
    if (state == "ACTIVE") return remaining_of(result);
    if (state != "GRACE") return "-";
    return "reserved for " + duration_of(result["reserved_for_ms"]);
}

/// Prints the results of renewing several leases. Returns the worst exit code.
int show_renewed(const Screen& screen, const JsonValue& body) {
    int exit_code = exit_ok;
    Table table{{"LEASE", "RESULT", "REMAINING"}};
    for (const JsonValue& result : body["results"].items) {
        const bool renewed = result["result"].text == "RENEWED";
        const ErrorCode code = ErrorCode::named(result["error"]["code"].text);
        if (!renewed) exit_code = worst_of(exit_code, exit_code_of(code));
        const std::string what = renewed ? "renewed" : std::string(code.name());
        const std::string left = renewed ? remaining_of(result["lease"]["timeline"]) : "-";
        table.add({{result["id"].text}, {what, renewed ? Colour::green : Colour::red}, {left}});
    }
    if (screen.json())
        screen.show(body);
    else
        screen.show(table);
    return exit_code;
}

std::string holders_of(const JsonValue& result) {
    std::string text;
    for (const JsonValue& current : result["current"].items)
        text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", current["holder"].text,
                            current["predicate"].text, remaining_of(current));
    return text.empty() ? "nobody" : text;
}

}  // namespace

int acquire_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    TakeOptions take = arguments.take;
    const guard::WorkTreeIdentity who = identity_here({take.holder, take.name_space});
    take.holder = who.holder;
    take.name_space = who.name_space;
    StopOnSignal stop{[&api] { api.connection().stop(); }};
    const auto registered = register_if_agent(api, take);
    const auto answer = registered && registered->ok() ? acquire(api, take, screen, stop) : registered;
    if (stop.signal() != 0) return 128 + stop.signal();
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    show_granted(screen, answer->body);
    return exit_ok;
}

int renew_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    NamedOptions named = arguments.named;
    named.holder = holder_here(named.holder);
    Api api{arguments.common};
    const auto names = names_of(named);
    const bool one = named.leases.size() == 1;
    const auto answer = api.send(one         ? client::renew_one_request(names)
                                 : named.all ? client::renew_all_request(names)
                                             : client::renew_request(names));
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    if (!one) return show_renewed(screen, answer->body);
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line("renewed for " + remaining_of(answer->body["lease"]["timeline"]));
    return exit_ok;
}

int release_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    NamedOptions named = arguments.named;
    named.holder = holder_here(named.holder);
    if (named.all) {  // those that it has, and those reserved for it (R3)
        const auto all = api.send(client::verify_request({.id = named.holder, .epoch = named.epoch}));
        if (const auto exit_code = failed(screen, all)) return *exit_code;
        for (const JsonValue& result : all->body["results"].items)
            named.leases.push_back(result["id"].text);
    }
    const auto names = names_of(named);
    int exit_code = exit_ok;
    JsonValue::List results;
    for (const std::string& lease : named.leases) {
        const auto answer = api.send(client::release_request(names, lease));
        if (!answer) return fail(screen, answer.error());
        results.push_back(answer->body);
        if (!answer->ok() && !screen.json()) exit_code = worst_of(exit_code, fail(screen, *answer));
        if (!answer->ok() && screen.json()) exit_code = worst_of(exit_code, exit_code_of(*answer));
        if (answer->ok() && !screen.json())
            screen.line(fmt::format("{} {}", printable(lease), answer->body["state"].text));
    }
    if (screen.json()) show_results(screen, std::move(results));
    return exit_code;
}

int verify_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const NamedOptions& named = arguments.named;
    Api api{arguments.common};
    const auto answer =
        api.send(named.leases.empty() ? client::verify_request({.id = named.holder, .epoch = named.epoch})
                                      : client::verify_request(named.leases));
    if (const auto exit_code = failed(screen, answer)) return *exit_code;
    int exit_code = exit_ok;
    Table table{{"LEASE", "STATE", "REMAINING", "HELD NOW BY"}};
    for (const JsonValue& result : answer->body["results"].items) {
        const bool active = result["state"].text == "ACTIVE";
        if (!active) exit_code = exit_lost;
        table.add({{result["id"].text},
                   {result["state"].text, active ? Colour::green : Colour::red},
                   {left_of(result)},
                   {holders_of(result)}});
    }
    if (screen.json())
        screen.show(answer->body);
    else
        screen.show(table);
    return exit_code;
}

}  // namespace holdfast::cli
