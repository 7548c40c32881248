#include "cli/api.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "base/code.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "client/messages.h"

namespace holdfast::cli {
namespace {

constexpr Duration answer_timeout = 10s;

std::string describe(const Conflict& conflict) {
    const std::string left = format_duration(conflict.expires_in);
    const std::string reason = conflict.reason.empty() ? "" : fmt::format(" ({})", conflict.reason);
    if (conflict.waiting) return fmt::format("{} already waits for {}{}", conflict.holder, conflict.resource, reason);
    if (conflict.reserved)
        return fmt::format("{} restarts and has {} reserved for another {}{}", conflict.holder, conflict.resource, left,
                           reason);
    return fmt::format("{} holds {} for another {} unless renewed{}", conflict.holder, conflict.resource, left, reason);
}

}  // namespace

Result<Answer> Api::get_all(const std::string& target, std::string_view items) {
    JsonValue::List gathered;
    std::optional<Answer> first;
    std::string page = target;
    for (;;) {
        auto answer = get(page);
        if (!answer || !answer->ok()) return answer;
        if (JsonValue* found = answer->body.find(items))
            std::move(found->items.begin(), found->items.end(), std::back_inserter(gathered));
        const std::string next = answer->body["next"].text;
        if (!first) first = std::move(*answer);
        if (next.empty()) break;
        page = fmt::format("{}&after={}", target, percent_encode(next));
    }
    first->body.set(items, std::move(gathered)).set("next", nullptr);
    return std::move(*first);
}

Result<Answer> Api::send(std::string method, std::string target, const JsonValue& body) {
    return call({.method = std::move(method), .target = std::move(target), .body = to_text(body), .repeatable = true});
}

Result<Answer> Api::send_and_wait(std::string target, const JsonValue& body, Duration wait) {
    return call({.method = "POST",
                 .target = std::move(target),
                 .body = to_text(body),
                 .max_silence = connection_.max_silence(wait)},
                wait);
}

Result<Answer> Api::acquire(const client::AcquireAsk& ask) {
    auto request = client::acquire_request(ask);
    if (!request) return request.error();
    request->max_silence = connection_.max_silence(ask.ttl);
    return call(*request, ask.wait);
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
    return read(*response);
}

Result<Answer> Api::read(const client::HttpResponse& response) const {
    auto body = read_json(response.body, answer_limits);
    if (body && body->is(JsonValue::Kind::object)) return Answer{response.status, std::move(*body)};
    return Error{says_later(response.status) ? Code::unreachable : Code::not_holdfast,
                 fmt::format("{} answered, but not as Holdfast does (HTTP {}); check --server", connection_.server(),
                             response.status)};
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

std::chrono::milliseconds ms_of(const JsonValue& value) {
    return std::chrono::milliseconds{value.number <= max_duration_ms ? value.number : 0};
}

std::string duration_of(const JsonValue& value) {
    return format_duration(ms_of(value));
}

ErrorCode error_code_of(const Answer& answer) {
    return ErrorCode::named(answer.body["error"]["code"].text);
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
    const bool unreachable = error.code == Code::unreachable;
    const std::string message = unreachable ? describe_unreachable(error.message) : error.message;
    if (screen.json())
        screen.show(error_object({error.code, message}));
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

std::optional<int> failed(const Screen& screen, const Result<Answer>& answer) {
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    return std::nullopt;
}

std::optional<int> fail_or_show_json(const Screen& screen, const Result<Answer>& answer) {
    if (const auto exit_code = failed(screen, answer)) return exit_code;
    if (!screen.json()) return std::nullopt;
    screen.show(answer->body);
    return exit_ok;
}

int show_done(const Screen& screen, const Result<Answer>& answer, const std::string& done) {
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    screen.line(printable(done));
    return exit_ok;
}

void show_results(const Screen& screen, JsonValue::List results) {
    screen.show(results.size() == 1 ? results[0] : JsonValue::object({{"results", std::move(results)}}));
}

int show_list(const CommonOptions& options, const Listing& listing) {
    const Screen screen{options};
    Api api{options};
    const auto answer = api.get_all(listing.target, listing.items);
    if (const auto exit_code = fail_or_show_json(screen, answer)) return *exit_code;
    const JsonValue::List& items = answer->body[listing.items].items;
    Table table{listing.headings};
    for (const JsonValue& item : items)
        table.add(listing.row(item));
    if (items.empty())
        screen.note(listing.none);
    else
        screen.show(table);
    return exit_ok;
}

Failure failure_of(const Answer& answer) {
    if (auto failure = client::read_failure(answer.body, answer.status)) return std::move(*failure);
    return {.outcome = Outcome::refused,
            .code = std::string(error_code_of(answer).name()),
            .message = fmt::format("the server refused with HTTP {}", answer.status)};
}

std::string describe(const std::vector<Conflict>& conflicts) {
    std::string text;
    for (const Conflict& conflict : conflicts)
        text += (text.empty() ? "" : "; ") + describe(conflict);
    return text;
}

std::string describe(const Failure& failure) {
    if (code_in(failure.code) == Code::unreachable) return describe_unreachable(failure.message);
    const std::string conflicts = describe(failure.conflicts);
    if (failure.outcome == Outcome::die)
        return fmt::format("told to die, because an older agent is in the way{}{}",
                           conflicts.empty() ? "" : ": " + conflicts,
                           failure.retry_in ? "; come back in " + format_duration(*failure.retry_in) : "");
    if (!conflicts.empty()) return conflicts;
    if (failure.retry_in.value_or(0ms) <= 0ms) return failure.message;
    return fmt::format("{} (try again in {})", failure.message, format_duration(*failure.retry_in));
}

std::string describe_unreachable(std::string_view message) {
    return fmt::format("{}; start a server with 'holdfast serve' or say where it is with --server", message);
}

Result<Answer> register_agent(Api& api, const AgentArguments& agent) {
    std::optional<std::int64_t> priority;
    if (const auto number = parse_number(agent.priority)) priority = static_cast<std::int64_t>(*number);
    return api.send(client::register_request({.id = agent.id, .priority = priority, .epoch = agent.epoch}));
}

}  // namespace holdfast::cli
