#include "cli/api.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/code.h"
#include "base/text.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr Duration answer_timeout = 10s;

std::string describe_conflict(const json::value& conflict) {
    const bool waits = flag_of(conflict, "waiting");
    const auto left = format_duration(std::chrono::milliseconds{number_of(conflict, "expires_in_ms")});
    std::string text = text_of(conflict, "holder");
    if (waits)
        text += " waits for " + text_of(conflict, "resource") + " already";
    else if (flag_of(conflict, "reserved"))
        text += " restarts and has " + text_of(conflict, "resource") + " reserved for another " + left;
    else
        text += " holds " + text_of(conflict, "resource") + " for another " + left + " unless renewed";
    const std::string reason = text_of(conflict, "reason");
    return reason.empty() ? text : text + " (" + reason + ")";
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

Result<Answer> Api::call(const HttpRequest& request, Duration wait) {
    return call_within(answer_timeout + wait, request);
}

Result<Answer> Api::call_within(Duration timeout, const HttpRequest& request) {
    const auto response = connection_.send(request, timeout);
    if (!response) return response.error();
    boost::system::error_code malformed;
    json::value body = json::parse(response->body, malformed);
    if (malformed || !body.is_object())
        return Error{says_later(response->status) ? "unreachable" : "not_holdfast",
                     connection_.server() + " answered, but not as Holdfast does (HTTP " +
                         std::to_string(response->status) + "); check --server"};
    return Answer{response->status, std::move(body)};
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

std::string describe_unreachable(std::string_view message) {
    return std::string(message) + "; start a server with 'holdfast serve' or say where it is with --server";
}

int fail(const Screen& screen, const Error& error) {
    const bool unreachable = error.code == "unreachable";
    const std::string message = unreachable ? describe_unreachable(error.message) : error.message;
    if (screen.json())
        screen.show(json::value{{"error", {{"code", error.code}, {"message", message}}}});
    else
        screen.complain(message);
    return exit_code_of(error.code);
}

std::string describe_conflicts(const Answer& answer) {
    std::string text;
    for (const json::value& conflict : array_of(answer.body, "conflicts"))
        text += (text.empty() ? "" : "; ") + describe_conflict(conflict);
    return text;
}

int fail(const Screen& screen, const Answer& answer) {
    const std::string code = error_code_of(answer);
    if (screen.json()) {
        screen.show(answer.body);
        return exit_code_of(answer);
    }
    const std::string conflicts = describe_conflicts(answer);
    std::string message = conflicts.empty() ? text_of(field_of(answer.body, "error"), "message") : conflicts;
    if (message.empty()) message = "the server refused with HTTP " + std::to_string(answer.status);
    const std::chrono::milliseconds retry_in{number_of(answer.body, "retry_in_ms")};
    if (core::code_in(code) == core::Code::die)
        message = "told to die, because an older agent is in the way: " + message + "; come back in " +
                  format_duration(retry_in);
    else if (conflicts.empty() && retry_in > 0ms)
        message += " (try again in " + format_duration(retry_in) + ")";
    screen.complain(message);
    return exit_code_of(answer);
}

int show_done(const Screen& screen, const Result<Answer>& answer, const std::string& done) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line(printable(done));
    return exit_ok;
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

}  // namespace holdfast
