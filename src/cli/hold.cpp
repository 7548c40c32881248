#include <algorithm>
#include <boost/json/serialize.hpp>
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
#include "lease/owner.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

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

std::string remaining_of(const json::value& object) {
    return format_duration(std::chrono::milliseconds{number_of(object, "expires_in_ms")});
}

json::object acquire_body(const TakeOptions& take) {
    json::array intents;
    std::string session = take.session.empty() ? random_hex(8) : take.session;
    for (const std::string& resource : take.resources) {
        intents.push_back({{"resource", resource}, {"predicate", take.predicate}});
        const bool leads = lease::owner_of(resource) == lease::Owner::leaders;  // its proof must stay private (R2)
        if (leads && take.session.empty() && !has_prefix(session, lease::private_session))
            session.insert(0, lease::private_session);
    }
    json::object body{{"holder", take.holder}, {"session", std::move(session)}, {"intents", std::move(intents)}};
    if (take.epoch) body["epoch"] = *take.epoch;
    if (take.ttl) body["ttl_ms"] = to_ms(*take.ttl);
    if (!take.reason.empty()) body["reason"] = take.reason;
    if (!take.name_space.empty()) body["namespace"] = take.name_space;
    return body;
}

/// Repeats the request until it is granted, refused, or the wait is over. A server cuts long waits, so one wait may
/// take several requests.
Result<Answer> acquire(Api& api, const TakeOptions& take, const Screen& screen, const StopOnSignal& stop) {
    json::object body = acquire_body(take);
    body["idempotency_key"] = random_hex(16);
    const HolderInstant start = holder_clock_now();
    for (;;) {
        const Duration spent = holder_clock_now() - start;
        const Duration wait = take.wait_for_ever ? wait_slice : std::max(take.wait.value_or(0s) - spent, Duration{});
        if (wait > 0s) body["wait_ms"] = to_ms(std::min(wait, wait_slice));
        auto answer = api.acquire(body, wait, take.ttl.value_or(0s));
        const bool goes_on = take.wait_for_ever || holder_clock_now() - start < take.wait.value_or(0s);
        if (!answer && answer.error().code == "unreachable" && api.has_several_servers() && goes_on &&
            stop.signal() == 0) {
            screen.note("still waiting, through another server: " + answer.error().message);
            stop.sleep_for(retry_pause);
            continue;  // with the same key: the request keeps its place (G6)
        }
        if (!answer || answer->ok()) return answer;
        const std::string code = error_code_of(*answer);
        const auto known = code_in(code);
        const bool pending = known == Code::idempotency_in_progress;  // from a call whose connection was lost
        const bool passes = is_temporary(*answer);
        const bool helps = pending || passes || known == Code::wait_timeout;
        if (!pending) body["idempotency_key"] = random_hex(16);
        if (!helps || !goes_on || stop.signal() != 0) return answer;
        const std::string conflicts = describe_conflicts(answer->body);
        screen.note("still waiting: " + (conflicts.empty() ? code : conflicts));
        if (known != Code::wait_timeout) stop.sleep_for(retry_pause);
    }
}

void show_granted(const Screen& screen, const json::value& body) {
    if (screen.json()) return screen.show(body);
    for (const json::value& lease : array_of(body, "leases"))
        screen.line(fmt::format("{} {}", printable(text_of(lease, "id")), number_of(lease, "token")));
    const json::array& leases = array_of(body, "leases");
    if (leases.empty()) return;
    const auto left = format_duration(std::chrono::milliseconds{number_of(leases[0], "ttl_ms")});
    const bool leads = std::any_of(leases.begin(), leases.end(), [](const json::value& lease) {
        return lease::owner_of(text_of(lease, "id")) == lease::Owner::leaders;
    });
    const std::string session = leads ? " --session " + text_of(leases[0], "session") : "";
    screen.note(fmt::format("held by {} for {}; keep it with 'holdfast renew', give it back with 'holdfast release{}'",
                            text_of(leases[0], "holder"), left, session));
}

json::array names(const NamedOptions& named) {
    json::array list;
    for (const std::string& lease : named.leases) {
        if (named.progress)
            list.push_back(json::object{{"id", lease}, {"progress", *named.progress}});
        else
            list.emplace_back(lease);
    }
    return list;
}

/// Registers the holder as an agent, if a priority is given.
Result<Answer> register_if_agent(Api& api, const TakeOptions& take) {
    if (take.priority.empty()) return Answer{200, json::object{}};
    return register_agent(api, {take.holder, take.priority, take.epoch});
}

/// All leases that the holder has, and those reserved for it (R3).
Result<Answer> names_of_all(Api& api, const NamedOptions& named) {
    json::object body{{"holder", named.holder}};
    if (named.epoch) body["epoch"] = *named.epoch;
    return api.send("POST", "/v1/verify", body);
}

/// The time left of a lease, or of its reservation for an agent (R5).
std::string left_of(const json::value& result) {
    const std::string state = text_of(result, "state");
    if (state == "ACTIVE") return remaining_of(result);
    if (state != "GRACE") return "-";
    return "reserved for " + format_duration(std::chrono::milliseconds{number_of(result, "reserved_for_ms")});
}

/// Prints the results of renewing several leases. Returns the worst exit code.
int show_renewed(const Screen& screen, const json::value& body) {
    int exit_code = exit_ok;
    Table table{{"LEASE", "RESULT", "REMAINING"}};
    for (const json::value& result : array_of(body, "results")) {
        const bool renewed = text_of(result, "result") == "RENEWED";
        const std::string code = text_of(field_of(result, "error"), "code");
        if (!renewed) exit_code = worst_of(exit_code, exit_code_of(code));
        const std::string what = renewed ? "renewed" : code;
        const std::string left = renewed ? remaining_of(field_of(field_of(result, "lease"), "timeline")) : "-";
        table.add({{text_of(result, "id")}, {what, renewed ? Colour::green : Colour::red}, {left}});
    }
    if (screen.json())
        screen.show(body);
    else
        screen.show(table);
    return exit_code;
}

std::string holders_of(const json::value& result) {
    std::string text;
    for (const json::value& current : array_of(result, "current"))
        text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", text_of(current, "holder"),
                            text_of(current, "predicate"), remaining_of(current));
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
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    show_granted(screen, answer->body);
    return exit_ok;
}

int renew_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const NamedOptions& named = arguments.named;
    Api api{arguments.common};
    json::object body{{"holder", holder_here(named.holder)}};
    if (named.epoch) body["epoch"] = *named.epoch;
    if (named.ttl) body["ttl_ms"] = to_ms(*named.ttl);
    const bool one = named.leases.size() == 1;
    if (one && named.progress) body["progress"] = *named.progress;
    if (!named.all && !one) body["leases"] = names(named);
    const auto answer = api.send("POST", one ? lease_target(named.leases[0]) + "/heartbeat" : "/v1/heartbeat", body);
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (!one) return show_renewed(screen, answer->body);
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line("renewed for " + remaining_of(field_of(field_of(answer->body, "lease"), "timeline")));
    return exit_ok;
}

int release_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    NamedOptions named = arguments.named;
    named.holder = holder_here(named.holder);
    std::vector<std::string> leases = named.leases;
    if (named.all) {
        auto all = names_of_all(api, named);
        if (!all) return fail(screen, all.error());
        if (!all->ok()) return fail(screen, *all);
        for (const json::value& result : array_of(all->body, "results"))
            leases.push_back(text_of(result, "id"));
    }
    const std::string query = with_query("", {{"holder", named.holder},
                                              {"epoch", named.epoch ? std::to_string(*named.epoch) : ""},
                                              {"session", named.session}});
    int exit_code = exit_ok;
    json::array results;
    for (const std::string& lease : leases) {
        const auto answer = api.remove(lease_target(lease) + query);
        if (!answer) return fail(screen, answer.error());
        results.push_back(answer->body);
        if (!answer->ok() && !screen.json()) exit_code = worst_of(exit_code, fail(screen, *answer));
        if (!answer->ok() && screen.json()) exit_code = worst_of(exit_code, exit_code_of(*answer));
        if (answer->ok() && !screen.json())
            screen.line(fmt::format("{} {}", printable(lease), text_of(answer->body, "state")));
    }
    if (screen.json()) screen.show(results.size() == 1 ? results[0] : json::value{{"results", results}});
    return exit_code;
}

int verify_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const NamedOptions& named = arguments.named;
    Api api{arguments.common};
    json::object body;
    if (named.leases.empty())
        body["holder"] = named.holder;
    else
        body["leases"] = names(named);
    if (named.epoch) body["epoch"] = *named.epoch;
    const auto answer = api.send("POST", "/v1/verify", body);
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    int exit_code = exit_ok;
    Table table{{"LEASE", "STATE", "REMAINING", "HELD NOW BY"}};
    for (const json::value& result : array_of(answer->body, "results")) {
        const bool active = text_of(result, "state") == "ACTIVE";
        if (!active) exit_code = exit_lost;
        table.add({{text_of(result, "id")},
                   {text_of(result, "state"), active ? Colour::green : Colour::red},
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
