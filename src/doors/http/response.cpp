#include "doors/http/response.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/json_writer.h"
#include "base/text.h"

namespace holdfast::doors::http {
namespace {

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 413:
            return "Content Too Large";
        case 422:
            return "Unprocessable Content";
        case 431:
            return "Request Header JsonFields Too Large";
        case 503:
            return "Service Unavailable";
        default:
            return "Internal Server Error";
    }
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
}

std::int64_t seconds_up(Duration duration) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count());
}

}  // namespace

int status_of(Code code) {
    switch (code) {
        case Code::invalid_json:
        case Code::unknown_field:
        case Code::invalid_argument:
        case Code::bad_request:
        case Code::invalid_identity:
        case Code::invalid_name:
        case Code::invalid_alpn:
        case Code::invalid_metadata:
            return 400;
        case Code::bad_signature:
        case Code::unauthenticated:
            return 401;
        case Code::banned:
        case Code::name_refused:
        case Code::name_denied:
        case Code::not_holder:
        case Code::renewal_barred:
        case Code::origin_refused:
        case Code::spawn_not_allowed:
        case Code::over_quota:
        case Code::lease_idle:
        case Code::awaiting_approval:
        case Code::reserved_namespace:
        case Code::service_lease:
        case Code::forbidden:
            return 403;
        case Code::unknown_lease:
        case Code::unknown_agent:
        case Code::not_banned:
        case Code::unknown_key:
        case Code::unknown_backend:
        case Code::unknown_drone:
        case Code::unknown_service:
        case Code::not_found:
        case Code::not_clustered:
        case Code::unknown_principal:
        case Code::unknown_role:
        case Code::unknown_api_token:
        case Code::unknown_mapping:
            return 404;
        case Code::method_not_allowed:
            return 405;
        case Code::request_timeout:
            return 408;
        case Code::busy:
        case Code::wait_timeout:
        case Code::cancelled:
        case Code::die:
        case Code::stale_epoch:
        case Code::agent_restarting:
        case Code::priority_fixed:
        case Code::agent_busy:
        case Code::too_many_leases:
        case Code::idempotency_in_progress:
        case Code::key_tag_mismatch:
        case Code::nothing_to_start:
        case Code::key_race_lost:
        case Code::backend_id_taken:
        case Code::stale_drone:
        case Code::drone_alive:
        case Code::superseded:
        case Code::name_taken:
        case Code::replayed:
        case Code::other_relay:
        case Code::clock_apart:
        case Code::principal_exists:
        case Code::role_fixed:
        case Code::role_in_use:
        case Code::too_many_api_tokens:
        case Code::mapping_taken:
        case Code::no_admin:
            return 409;
        case Code::lease_expired:
        case Code::lease_released:
        case Code::lease_revoked:
            return 410;
        case Code::body_too_large:
            return 413;
        case Code::idempotency_mismatch:
        case Code::ttl_too_short:
        case Code::ttl_too_long:
        case Code::invalid_policy:
        case Code::answer_too_large:
            return 422;
        case Code::too_many_services:
            return 429;
        case Code::header_too_large:
            return 431;
        case Code::recovering:
        case Code::stopping:
        case Code::tokens_exhausted:
        case Code::too_many_waiters:
        case Code::too_many_agents:
        case Code::no_drone:
        case Code::too_many_drones:
        case Code::too_many_backends:
        case Code::too_many_connections:
        case Code::memory_full:
        case Code::unavailable:
        case Code::store_unavailable:
        case Code::auth_full:
            return 503;
        default:
            return 500;
    }
}

std::string message_of(Code code, std::string_view detail) {
    if (detail.empty()) return std::string(advice_of(code));
    return is_utf8(detail) ? std::string(detail) : percent_encode(detail);
}

Response failure(Code code, std::string_view detail, std::optional<Duration> retry_in) {
    Response response{.status = status_of(code), .code = code, .retry_in = retry_in};
    JsonWriter json(response.body);
    json.open_object().key("error").open_object();
    json.field("code", name_of(code)).field("message", message_of(code, detail));
    json.close_object();
    if (retry_in) json.field("retry_in_ms", to_ms_up(*retry_in));
    json.close_object();
    return response;
}

Code answer_code(const ErrorCode& code) {
    return code.known() && is_answer_code(*code.known()) ? *code.known() : Code::storage_failed;
}

Response failure(const Error& error) {
    return failure(answer_code(error.code), error.message, error.retry_in);
}

void append(std::string& out, const Response& response, const Framing& framing) {
    out.reserve(out.size() + response.body.size() + 256);
    out += "HTTP/1.1 ";
    out += std::to_string(response.status);
    out += ' ';
    out += reason_of(response.status);
    out += "\r\n";
    append_field(out, "Date", framing.date);
    append_field(out, "Content-Type", response.content_type);
    append_field(out, "Content-Length", std::to_string(response.body.size()));
    if (!framing.keep_alive) append_field(out, "Connection", "close");
    if (framing.keep_alive && framing.http_1_0) append_field(out, "Connection", "keep-alive");
    if (!response.allow.empty()) append_field(out, "Allow", response.allow);
    if (response.status == 503 && response.retry_in)
        append_field(out, "Retry-After", std::to_string(seconds_up(*response.retry_in)));
    out += "\r\n";
    if (!framing.head_only) out += response.body;
}

void append_stream_head(std::string& out, std::string_view date) {
    out += "HTTP/1.1 200 OK\r\n";
    append_field(out, "Date", date);
    append_field(out, "Content-Type", "text/event-stream");
    append_field(out, "Cache-Control", "no-store");
    append_field(out, "Connection", "close");
    out += "\r\n";
}

std::string http_date(std::int64_t wall_ms) {
    static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t seconds = wall_ms / 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 64> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                     days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                     months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                                     parts.tm_hour, parts.tm_min, parts.tm_sec);
    return {buffer.data(), static_cast<std::size_t>(length)};
}

}  // namespace holdfast::doors::http
