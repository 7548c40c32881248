#include "cli/api.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "cli/exit_codes.h"

namespace holdfast::cli {
namespace {

namespace json = boost::json;

constexpr Duration answer_timeout = 10s;

std::vector<Conflict> conflicts_in(const json::value& answer) {
    std::vector<Conflict> conflicts;
    for (const json::value& conflict : array_of(answer, "conflicts"))
        conflicts.push_back({.resource = text_of(conflict, "resource"),
                             .predicate = text_of(conflict, "predicate"),
                             .holder = text_of(conflict, "holder"),
                             .reason = text_of(conflict, "reason"),
                             .expires_in = std::chrono::milliseconds{number_of(conflict, "expires_in_ms")},
                             .waiting = flag_of(conflict, "waiting"),
                             .reserved = flag_of(conflict, "reserved")});
    return conflicts;
}

std::string describe(const Conflict& conflict) {
    const std::string left = format_duration(conflict.expires_in);
    const std::string reason = conflict.reason.empty() ? "" : " (" + conflict.reason + ")";
    if (conflict.waiting) return fmt::format("{} already waits for {}{}", conflict.holder, conflict.resource, reason);
    if (conflict.reserved)
        return fmt::format("{} restarts and has {} reserved for another {}{}", conflict.holder, conflict.resource, left,
                           reason);
    return fmt::format("{} holds {} for another {} unless renewed{}", conflict.holder, conflict.resource, left, reason);
}

std::string describe(const std::vector<Conflict>& conflicts) {
    std::string text;
    for (const Conflict& conflict : conflicts)
        text += (text.empty() ? "" : "; ") + describe(conflict);
    return text;
}

}  // namespace

Result<Answer> Api::get_all(const std::string& target, std::string_view items) {
    json::array gathered;
    json::object whole;  // the other fields of the first page
    std::string page = target;
    for (;;) {
        auto answer = get(page);
        if (!answer || !answer->ok()) return answer;
        for (const json::value& item : array_of(answer->body, items))
            gathered.push_back(item);
        if (whole.empty() && answer->body.is_object()) whole = answer->body.as_object();
        const std::string next = text_of(answer->body, "next");
        if (next.empty()) {
            whole[items] = std::move(gathered);
            whole["next"] = nullptr;
            return Answer{answer->status, std::move(whole)};
        }
        page = target + "&after=" + percent_encode(next);
    }
}

Result<Answer> Api::send(std::string method, std::string target, const json::value& body) {
    return call(
        {.method = std::move(method), .target = std::move(target), .body = json::serialize(body), .repeatable = true});
}

Result<Answer> Api::send_and_wait(std::string target, const json::value& body, Duration wait) {
    return call({.method = "POST",
                 .target = std::move(target),
                 .body = json::serialize(body),
                 .max_silence = connection_.max_silence(wait)},
                wait);
}

Result<Answer> Api::acquire(const json::value& body, Duration wait, Duration ttl) {
    return call({.method = "POST",
                 .target = "/v1/leases",
                 .body = json::serialize(body),
                 .repeatable = wait <= Duration::zero(),
                 .max_silence = connection_.max_silence(ttl)},
                wait);
}

Result<Answer> Api::get_within(Duration timeout, std::string target) {
    return call_within(std::min(timeout, answer_timeout), {"GET", std::move(target), "", ""});
}

Result<Answer> Api::call(const client::HttpRequest& request, Duration wait) {
    return call_within(answer_timeout + wait, request);
}

Result<Answer> Api::call_within(Duration timeout, const client::HttpRequest& request) {
    const auto response = connection_.send(request, timeout);
    if (!response) return response.error();
    boost::system::error_code malformed;
    json::value body = json::parse(response->body, malformed);
    if (malformed || !body.is_object())
        return Error{says_later(response->status) ? "unreachable" : "not_holdfast",
                     fmt::format("{} answered, but not as Holdfast does (HTTP {}); check --server",
                                 connection_.server(), response->status)};
    return Answer{response->status, std::move(body)};
}

std::string with_query(std::string path, const std::vector<std::pair<std::string_view, std::string>>& parameters) {
    char separator = '?';
    for (const auto& [name, value] : parameters) {
        if (value.empty()) continue;
        path += fmt::format("{}{}={}", separator, name, percent_encode(value));
        separator = '&';
    }
    return path;
}

std::string lease_target(std::string_view lease) {
    return "/v1/leases/" + percent_encode(lease);
}

const json::value& field_of(const json::value& object, std::string_view field) {
    static const json::value nothing;
    const json::object* fields = object.if_object();
    const json::value* found = fields == nullptr ? nullptr : fields->if_contains(field);
    return found == nullptr ? nothing : *found;
}

std::string text_of(const json::value& object, std::string_view field) {
    const json::string* text = field_of(object, field).if_string();
    return text == nullptr ? "" : std::string(*text);
}

bool flag_of(const json::value& object, std::string_view field) {
    const bool* flag = field_of(object, field).if_bool();
    return flag != nullptr && *flag;
}

std::int64_t number_of(const json::value& object, std::string_view field) {
    const json::value& found = field_of(object, field);
    boost::system::error_code not_a_number;
    const auto number = found.is_number() ? found.to_number<std::int64_t>(not_a_number) : 0;
    return not_a_number ? 0 : number;
}

const json::array& array_of(const json::value& object, std::string_view field) {
    static const json::array nothing;
    const json::array* found = field_of(object, field).if_array();
    return found == nullptr ? nothing : *found;
}

std::string count_of(const json::value& object, std::string_view field) {
    return std::to_string(number_of(object, field));
}

std::string error_code_of(const Answer& answer) {
    return text_of(field_of(answer.body, "error"), "code");
}

int exit_code_of(const Answer& answer) {
    return exit_code_of(error_code_of(answer), answer.status);
}

bool is_temporary(const Answer& answer) {
    return answer.status >= 500 && exit_code_of(answer) == exit_not_now;
}

std::string shown_name(const std::string& name_space, const std::string& name) {
    return name_space.empty() || name_space == "default" ? name : fmt::format("@{}/{}", name_space, name);
}

int fail(const Screen& screen, const Error& error) {
    return fail(screen, error, exit_code_of(error.code));
}

int fail(const Screen& screen, const Error& error, int exit_code) {
    const bool unreachable = error.code == "unreachable";
    const std::string message = unreachable ? describe_unreachable(error.message) : error.message;
    if (screen.json())
        screen.show(json::value{{"error", {{"code", error.code}, {"message", message}}}});
    else
        screen.complain(message);
    return exit_code;
}

int fail(const Screen& screen, const Answer& answer) {
    if (screen.json())
        screen.show(answer.body);
    else
        screen.complain(describe(failure_of(answer)));
    return exit_code_of(answer);
}

std::optional<int> fail_or_show_json(const Screen& screen, const Result<Answer>& answer) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (!screen.json()) return std::nullopt;
    screen.show(answer->body);
    return exit_ok;
}

int show_done(const Screen& screen, const Result<Answer>& answer, const std::string& done) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    screen.line(printable(done));
    return exit_ok;
}

int show_list(const CommonOptions& options, const Listing& listing) {
    const Screen screen{options};
    Api api{options};
    const auto answer = api.get_all(listing.target, listing.items);
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const json::array& items = array_of(answer->body, listing.items);
    Table table{listing.headings};
    for (const json::value& item : items)
        table.add(listing.row(item));
    if (items.empty())
        screen.note(listing.none);
    else
        screen.show(table);
    return exit_ok;
}

Failure failure_of(const Answer& answer) {
    Failure failure{.outcome = Outcome::refused,
                    .code = error_code_of(answer),
                    .message = text_of(field_of(answer.body, "error"), "message"),
                    .conflicts = conflicts_in(answer.body)};
    if (code_in(failure.code) == Code::die) failure.outcome = Outcome::die;
    if (failure.message.empty()) failure.message = fmt::format("the server refused with HTTP {}", answer.status);
    if (field_of(answer.body, "retry_in_ms").is_number())
        failure.retry_in = std::chrono::milliseconds{number_of(answer.body, "retry_in_ms")};
    return failure;
}

std::string describe(const Failure& failure) {
    if (failure.code == "unreachable") return describe_unreachable(failure.message);
    const std::string conflicts = describe(failure.conflicts);
    if (failure.outcome == Outcome::die)
        return fmt::format("told to die, because an older agent is in the way{}{}",
                           conflicts.empty() ? "" : ": " + conflicts,
                           failure.retry_in ? "; come back in " + format_duration(*failure.retry_in) : "");
    if (!conflicts.empty()) return conflicts;
    if (failure.retry_in.value_or(0ms) <= 0ms) return failure.message;
    return fmt::format("{} (try again in {})", failure.message, format_duration(*failure.retry_in));
}

std::string describe_conflicts(const json::value& answer) {
    return describe(conflicts_in(answer));
}

std::string describe_unreachable(std::string_view message) {
    return fmt::format("{}; start a server with 'holdfast serve' or say where it is with --server", message);
}

std::string agent_target(const std::string& id) {
    return "/v1/agents/" + percent_encode(id);
}

Result<Answer> register_agent(Api& api, const AgentArguments& agent) {
    boost::json::object body;
    if (const auto priority = parse_number(agent.priority)) body["priority"] = *priority;
    if (agent.epoch) body["epoch"] = *agent.epoch;
    return api.send("PUT", agent_target(agent.id), body);
}

}  // namespace holdfast::cli
