#include "keys/drone/messages.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "client/json_reader.h"
#include "client/messages.h"

namespace holdfast::drone {
namespace {

namespace json = boost::json;

constexpr std::size_t max_name_bytes = 128;
constexpr std::size_t max_message_bytes_told = 300;

std::int64_t clock_ms(HolderInstant instant) {
    return to_ms(instant.time_since_epoch());
}

template <class T, class Convert>
json::value or_null(const std::optional<T>& value, Convert convert) {
    return value ? json::value(convert(*value)) : json::value(nullptr);
}

/// What a server takes as text: UTF-8 without control characters, and not too much of it.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](char c) {
            return has_control_characters({&c, 1});
        },
        ' ');
    if (!is_utf8(text))
        std::replace_if(
            text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    std::size_t end = std::min(text.size(), max_message_bytes_told);
    while (end < text.size() && (text[end] & 0xC0) == 0x80)
        --end;  // not in the middle of a character
    return text.substr(0, end);
}

json::object to_json(const Identity& drone, const BackendReport& report) {
    const auto name = [](EndReason reason) { return json::value(to_string(reason)); };
    const auto number = [](int code) { return json::value(code); };
    const auto milliseconds = [](Duration left) { return json::value(to_ms(left)); };
    json::object out{
        {"id", report.id},
        {"key", {{"namespace", report.key.name_space}, {"name", report.key.name}, {"tag", report.key.tag}}},
        {"token", report.token},
        {"state", to_string(report.state)},
        {"state_for_ms", to_ms(report.state_for)},
        {"reason", or_null(report.reason, name)},
        {"exit_code", or_null(report.exit_code, number)},
        {"address", nullptr},
        {"ttl_ms", to_ms(report.ttl)},
        {"holds_for_ms", or_null(report.holds_for, milliseconds)}};
    if (report.port != 0) out["address"] = address_of(drone.address, report.port);
    if (!report.message.empty()) out["message"] = plain(report.message);
    return out;
}

HttpRequest post(std::string target, const json::object& body) {
    return {.method = "POST", .target = std::move(target), .body = json::serialize(body), .repeatable = true};
}

std::string target_of(const Identity& drone, const char* what) {
    return "/v1/drones/" + percent_encode(drone.id) + "/" + what;
}

}  // namespace

bool is_name(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !text.empty() && text.size() <= max_name_bytes && text[0] != '.' &&
           std::all_of(text.begin(), text.end(), allowed);
}

HttpRequest heartbeat_request(const Identity& drone, const HeartbeatAsk& ask) {
    json::array backends;
    for (const BackendReport& report : ask.backends)
        backends.push_back(to_json(drone, report));
    json::object body{{"life", drone.life},
                      {"pool", drone.pool},
                      {"capacity", drone.capacity},
                      {"draining", ask.draining},
                      {"clock_ms", clock_ms(ask.clock)},
                      {"address", drone.address},
                      {"all", ask.all},
                      {"backends", std::move(backends)}};
    if (!drone.earlier_lives.empty())
        body["earlier_lives"] = json::array(drone.earlier_lives.begin(), drone.earlier_lives.end());
    if (ask.reassert) body["reassert"] = json::object{{"controller", *ask.reassert}};
    return post(target_of(drone, "heartbeat"), body);
}

HttpRequest orders_request(const Identity& drone, const OrdersAsk& ask) {
    return post(target_of(drone, "orders"), {{"life", drone.life},
                                             {"clock_ms", clock_ms(ask.clock)},
                                             {"controller", ask.controller_life},
                                             {"done", json::array(ask.done.begin(), ask.done.end())},
                                             {"wait_ms", to_ms(ask.wait)}});
}

HttpRequest renew_request(const Identity& drone, const RenewAsk& ask) {
    return post("/v1/heartbeat", {{"holder", drone.id},
                                  {"leases", json::array(ask.leases.begin(), ask.leases.end())},
                                  {"client_time_ms", clock_ms(ask.clock)}});
}

Result<HeartbeatAnswer> read_heartbeat(const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    JsonReader reader(response.body);
    const auto& answer = reader.object(reader.document());
    HeartbeatAnswer read{.controller = reader.text(answer, "controller")};
    read.send_all = reader.flag(answer, "send_all");
    read.drain = reader.flag(answer, "drain");
    if (answer.contains("heartbeat_in_ms")) read.heartbeat_in = reader.milliseconds(answer, "heartbeat_in_ms");
    if (answer.contains("reasserted"))
        for (const auto& id : reader.array(answer, "reasserted"))
            if (id.is_string()) read.reasserted.emplace_back(id.get_string());
    if (!reader.ok() || read.controller.empty()) return Error{"bad_answer", "the controller's answer makes no sense"};
    return read;
}

Result<std::vector<RenewReply>> read_renewal(const RenewAsk& ask, const HttpResponse& response) {
    NamedLeases named;
    for (const std::string& lease : ask.leases)
        named.leases.push_back({.id = lease});
    return read_renew(named, response);
}

std::string address_of(const std::string& host, std::uint16_t port) {
    const bool six = host.find(':') != std::string::npos && host.front() != '[';
    return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace holdfast::drone
