#include "keys/drone/messages.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "client/json_reader.h"
#include "client/messages.h"

namespace holdfast::keys::drone {
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

/// Text that a server accepts: UTF-8 without control characters, truncated to the limit.
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
        --end;  // do not split a character
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

client::HttpRequest post(std::string target, const json::object& body) {
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

client::HttpRequest heartbeat_request(const Identity& drone, const HeartbeatAsk& ask) {
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

client::HttpRequest orders_request(const Identity& drone, const OrdersAsk& ask) {
    return post(target_of(drone, "orders"), {{"life", drone.life},
                                             {"clock_ms", clock_ms(ask.clock)},
                                             {"controller", ask.controller_life},
                                             {"done", json::array(ask.done.begin(), ask.done.end())},
                                             {"wait_ms", to_ms(ask.wait)}});
}

client::HttpRequest renew_request(const Identity& drone, const RenewAsk& ask) {
    return post("/v1/heartbeat", {{"holder", drone.id},
                                  {"leases", json::array(ask.leases.begin(), ask.leases.end())},
                                  {"client_time_ms", clock_ms(ask.clock)}});
}

Result<HeartbeatAnswer> read_heartbeat(const client::HttpResponse& response) {
    if (response.status != 200) return client::read_error(response);
    client::JsonReader reader(response.body);
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

Result<std::vector<client::RenewReply>> read_renewal(const RenewAsk& ask, const client::HttpResponse& response) {
    client::NamedLeases named;
    for (const std::string& lease : ask.leases)
        named.leases.push_back({.id = lease});
    return client::read_renew(named, response);
}

std::string address_of(const std::string& host, std::uint16_t port) {
    const bool six = host.find(':') != std::string::npos && host.front() != '[';
    return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

namespace {

namespace json = boost::json;

constexpr std::size_t max_words = 1000;
constexpr std::size_t max_order_bytes = 128 * 1024;

/// Decodes one order. If it is malformed, the result is an UnclearOrder that says why.
class OrderReader {
 public:
    OrderReader(client::JsonReader& reader, const json::object& order) : reader_(reader), order_(order) {}

    Order read() {
        Order order{.number = static_cast<std::uint64_t>(reader_.number(order_, "number")), .what = UnclearOrder{}};
        const std::string kind = text(order_, "kind");
        const std::string backend = text(order_, "backend");
        if (!is_name(backend)) problem("'" + backend + "' is not a valid name of a backend");
        if (kind == "spawn")
            order.what = spawn(backend);
        else if (kind == "terminate")
            order.what = TerminateOrder{backend, text(order_, "how") == "hard" ? How::hard : How::soft};
        else
            problem("unknown order '" + kind + "'");
        if (!problem_.empty()) order.what = UnclearOrder{"order " + std::to_string(order.number) + ": " + problem_};
        return order;
    }

 private:
    void problem(const std::string& text) {
        if (problem_.empty()) problem_ = text;
    }

    /// A required text. Zero bytes are refused, since they cannot be passed to a program.
    std::string text(const json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        if (found == nullptr || !found->is_string()) return problem("no " + std::string(name)), std::string{};
        return checked(std::string(found->get_string()));
    }
    std::string optional_text(const json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        return found == nullptr || found->is_null() ? std::string{} : text(in, name);
    }
    std::string checked(std::string value) {
        if (value.find('\0') != std::string::npos) problem("a zero byte in a text");
        bytes_ += value.size();
        if (bytes_ > max_order_bytes) problem("more than 128 KiB of text");
        return value;
    }
    std::int64_t number(const json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        json::error_code bad;
        const auto value = found != nullptr ? found->to_number<std::int64_t>(bad) : 0;
        if (found == nullptr || bad || value < 0 || value > (std::int64_t{1} << 53)) problem("no " + std::string(name));
        return value;
    }
    HolderInstant instant(std::string_view name) {
        const auto ms = number(order_, name);
        return HolderInstant{std::chrono::milliseconds{std::min(ms, std::int64_t{1} << 42)}};
    }
    std::optional<Duration> seconds(const json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        if (found == nullptr || found->is_null()) return std::nullopt;
        json::error_code bad;
        const double value = found->to_number<double>(bad);
        if (bad || !(value >= 0) || value > 1e9) return problem("no " + std::string(name)), std::nullopt;
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{value});
    }
    const json::object& object(const json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        if (found != nullptr && found->is_object()) return found->get_object();
        return problem("no " + std::string(name)), nothing_;
    }

    SpawnOrder spawn(const std::string& backend) {
        SpawnOrder read{.backend = backend};
        const auto& key = object(order_, "key");
        read.key = {optional_text(key, "namespace"), text(key, "name"), optional_text(key, "tag")};
        read.token = static_cast<std::uint64_t>(number(order_, "token"));
        read.ttl = std::chrono::milliseconds{std::min<std::int64_t>(number(order_, "ttl_ms"), 86'400'000)};
        read.deadlines = {instant("renew_at_ms"), instant("soft_terminate_at_ms"), instant("hard_terminate_at_ms")};
        const auto& what = object(order_, "spawn");
        read.command = text(what, "command");
        if (read.command.empty()) problem("no command");
        read_words(what, read);
        read.directory = optional_text(what, "cwd");
        if (const auto* port = what.if_contains("port"); port != nullptr && !port->is_null()) read.port = port_of(what);
        read.ready = readiness(what);
        read.idle_max = seconds(what, "max_idle_s");
        read.lifetime = seconds(what, "lifetime_s");
        read.start_timeout = seconds(what, "start_timeout_s").value_or(read.start_timeout);
        return read;
    }

    void read_words(const json::object& what, SpawnOrder& read) {
        if (const auto* args = what.if_contains("args"); args != nullptr && args->is_array())
            for (const auto& word : args->get_array()) {
                if (!word.is_string()) return problem("an argument is no text");
                read.args.push_back(checked(std::string(word.get_string())));
            }
        if (const auto* env = what.if_contains("env"); env != nullptr && env->is_object())
            for (const auto& [name, value] : env->get_object()) {
                const std::string variable{name};
                if (!value.is_string() || variable.empty() || variable.find('=') != std::string::npos)
                    return problem("'" + variable + "' is not a valid name of a variable");
                read.environment.push_back(checked(variable + "=" + std::string(value.get_string())));
            }
        if (read.args.size() > max_words || read.environment.size() > max_words) problem("more than 1000 words");
    }

    std::uint16_t port_of(const json::object& what) {
        const auto port = number(what, "port");
        if (port < 1 || port > 65535) problem("no such port");
        return static_cast<std::uint16_t>(port);
    }

    Readiness readiness(const json::object& what) {
        const auto* found = what.if_contains("ready");
        if (found == nullptr || !found->is_object()) return {};
        const auto& ready = found->get_object();
        const auto* http = ready.if_contains("http");
        if (http != nullptr && http->is_string()) {
            const std::string path = text(ready, "http");
            if (path.empty() || path[0] != '/') problem("the path to probe must begin with /");
            return {Readiness::By::http, path};
        }
        return client::JsonReader::flag(ready, "tcp") ? Readiness{Readiness::By::tcp} : Readiness{};
    }

    client::JsonReader& reader_;
    const json::object& order_;
    const json::object nothing_{};
    std::string problem_;
    std::size_t bytes_ = 0;
};

}  // namespace

Result<OrdersAnswer> read_orders(const client::HttpResponse& response) {
    if (response.status != 200) return client::read_error(response);
    client::JsonReader reader(response.body);
    const auto& answer = reader.object(reader.document());
    OrdersAnswer read{.controller = reader.text(answer, "controller")};
    for (const auto& order : reader.array(answer, "orders"))
        read.orders.push_back(OrderReader{reader, reader.object(order)}.read());
    if (!reader.ok() || read.controller.empty()) return Error{"bad_answer", "the controller's answer makes no sense"};
    return read;
}

}  // namespace holdfast::keys::drone
