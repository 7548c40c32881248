#include <fmt/format.h>
#include <string>

#include "base/result.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/request.h"
#include "doors/http/response.h"
#include "keys/controller/key_limits.h"
#include "keys/controller/messages.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using Kind = JsonValue::Kind;
using authority::Refused;

constexpr std::int64_t max_exit_code = 1'000'000;
constexpr std::size_t message_bytes = 1024;
constexpr std::size_t max_done = 2 * keys::controller::limits::orders_per_drone;

/// Empty for null.
std::string text_or_null(JsonFields& fields, std::string_view name, std::size_t max_bytes) {
    return fields.is_null(name) ? std::string() : fields.plain_text(name, max_bytes);
}

std::uint64_t clock_field(JsonFields& fields) {
    const auto clock = fields.whole("clock_ms", 0, max_client_time_ms);
    if (!clock) fields.refuse("clock_ms is missing");
    return clock.value_or(0);
}

std::string life_field(JsonFields& fields) {
    return plain_name_field(fields, "life", keys::controller::limits::life_bytes);
}

std::vector<std::string> lives_field(JsonFields& fields) {
    std::vector<std::string> lives;
    const JsonValue* list = fields.array("earlier_lives", keys::controller::limits::earlier_lives);
    if (list == nullptr) return lives;
    for (const JsonValue& item : list->items) {
        lives.push_back(item.kind == Kind::string ? item.text : "");
        fields.check(check_plain_name("each of earlier_lives", lives.back(), keys::controller::limits::life_bytes));
    }
    return lives;
}

keys::controller::BackendProgress progress_of(JsonFields& fields) {
    keys::controller::BackendProgress progress;
    const auto state = keys::controller::parse_backend_state(fields.text("state").value_or(""));
    if (!state) fields.refuse("state is not one that a backend has");
    progress.state = state.value_or(keys::controller::BackendState::scheduled);
    if (!fields.is_null("reason")) {
        progress.reason = keys::controller::parse_end_reason(fields.text("reason").value_or(""));
        if (!progress.reason) fields.refuse("reason is not a known reason for the end of a backend");
    }
    if (!fields.is_null("exit_code")) progress.exit_code = fields.signed_whole("exit_code", max_exit_code);
    progress.address = text_or_null(fields, "address", keys::controller::limits::address_bytes);
    if (!fields.is_null("message")) progress.message = fields.text("message").value_or("");
    progress.state_for = fields.milliseconds("state_for_ms").value_or(Duration::zero());
    if (progress.message.size() > message_bytes) fields.refuse("message is longer than 1024 bytes");
    return progress;
}

Result<keys::controller::BackendReport> report_of(const JsonValue& item, const std::string& path) {
    if (item.kind != Kind::object) return invalid_argument(path + " must be an object");
    JsonFields fields(item, path + ".");
    keys::controller::BackendReport report;
    report.id = plain_name_field(fields, "id", keys::controller::limits::backend_id_bytes);
    report.progress = progress_of(fields);
    report.token = fields.whole("token", 1, lease::token_limit - 1).value_or(0);
    if (report.token == 0) fields.refuse(path + ".token is missing");
    report.ttl = fields.milliseconds("ttl_ms").value_or(Duration::zero());
    if (!fields.is_null("holds_for_ms")) {
        const auto ms = fields.signed_whole("holds_for_ms", static_cast<std::int64_t>(max_duration_ms));
        report.holds_for = std::chrono::milliseconds(ms.value_or(0));
    }
    auto key = key_from(fields.object("key"), NameNeed::required);
    if (auto error = fields.error()) return *error;
    if (!key) return Error{key.error().code, fmt::format("{}: {}", path, key.error().message)};
    report.key = std::move(*key);
    return report;
}

Result<std::vector<keys::controller::BackendReport>> reports_of(const JsonValue* list) {
    std::vector<keys::controller::BackendReport> reports;
    if (list == nullptr) return reports;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        auto report = report_of(list->items[i], fmt::format("backends[{}]", i));
        if (!report) return report.error();
        reports.push_back(std::move(*report));
    }
    return reports;
}

Result<std::optional<std::string>> reassert_of(const JsonValue* object) {
    if (object == nullptr) return std::optional<std::string>();
    JsonFields fields(*object, "reassert.");
    std::optional<std::string> controller = fields.plain_text("controller", keys::controller::limits::life_bytes);
    if (auto error = fields.error()) return *error;
    return controller;
}

Result<keys::controller::Heartbeat> decode_drone_heartbeat(const Request& request, const std::string& drone) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    keys::controller::Heartbeat heartbeat;
    heartbeat.drone = drone;
    fields.check(check_plain_name("the drone's id", drone, keys::controller::limits::backend_id_bytes));
    heartbeat.life = life_field(fields);
    heartbeat.earlier_lives = lives_field(fields);
    heartbeat.pool =
        fields.has("pool") ? plain_name_field(fields, "pool", keys::controller::limits::pool_bytes) : "default";
    heartbeat.capacity = fields.whole("capacity", 0, keys::controller::limits::drone_capacity).value_or(0);
    heartbeat.draining = fields.boolean("draining").value_or(false);
    heartbeat.clock_ms = clock_field(fields);
    heartbeat.address = text_or_null(fields, "address", keys::controller::limits::address_bytes);
    heartbeat.all = fields.boolean("all").value_or(false);
    const JsonValue* reassert = fields.object("reassert");
    const JsonValue* backends = fields.array("backends", keys::controller::limits::backends_per_heartbeat);
    if (auto error = fields.error()) return *error;
    auto reports = reports_of(backends);
    if (!reports) return reports.error();
    heartbeat.backends = std::move(*reports);
    auto reassert_to = reassert_of(reassert);
    if (!reassert_to) return reassert_to.error();
    heartbeat.reassert_to = std::move(*reassert_to);
    return heartbeat;
}

Result<keys::controller::OrdersRequest> decode_orders(const Request& request, const std::string& drone) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    keys::controller::OrdersRequest orders;
    orders.drone = drone;
    orders.life = life_field(fields);
    orders.clock_ms = clock_field(fields);
    orders.controller = text_or_null(fields, "controller", keys::controller::limits::life_bytes);
    orders.wait = fields.milliseconds("wait_ms").value_or(Duration::zero());
    if (const JsonValue* done = fields.array("done", max_done))
        for (const JsonValue& item : done->items) {
            if (item.kind != Kind::number || !item.whole) fields.refuse("done must be a list of whole numbers");
            orders.done.push_back(item.number);
        }
    if (auto error = fields.error()) return *error;
    return orders;
}

Result<bool> decode_drain(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    const bool draining = fields.boolean("draining").value_or(true);
    if (auto error = fields.error()) return *error;
    return draining;
}

void put_drone(JsonWriter& json, const keys::controller::DroneView& drone) {
    json.open_object()
        .field("id", drone.id)
        .field("life", keys::controller::shown_life(drone.life))
        .field("pool", drone.pool);
    json.field_or_null("address", drone.address);
    json.field("capacity", std::uint64_t{drone.capacity}).field("backends", std::uint64_t{drone.backends});
    json.field("orders", std::uint64_t{drone.orders}).flag("draining", drone.draining).flag("healthy", drone.healthy);
    json.field("heard_ms_ago", to_ms(drone.heard_ago)).close_object();
}

void put_number_or_null(JsonWriter& json, std::string_view name, std::optional<std::uint64_t> number) {
    json.key(name);
    number ? json.number(*number) : json.null();
}

void put_ready(JsonWriter& json, const keys::controller::Readiness& ready) {
    json.key("ready").open_object();
    switch (ready.how) {
        case keys::controller::Readiness::How::tcp:
            json.flag("tcp", true);
            break;
        case keys::controller::Readiness::How::http:
            json.field("http", ready.path);
            break;
        case keys::controller::Readiness::How::started:
            json.flag("started", true);
            break;
    }
    json.close_object();
}

void put_spawn(JsonWriter& json, const keys::controller::Spawn& spawn) {
    json.key("spawn").open_object().field("command", spawn.command).key("args").open_array();
    for (const std::string& argument : spawn.args)
        json.text(argument);
    json.close_array().key("env").open_object();
    for (const auto& [name, value] : spawn.env)
        json.field(name, value);
    json.close_object();
    json.field_or_null("cwd", spawn.cwd.value_or(""));
    put_number_or_null(json, "port", spawn.port);
    put_ready(json, spawn.ready);
    put_number_or_null(json, "max_idle_s", spawn.max_idle_s);
    put_number_or_null(json, "lifetime_s", spawn.lifetime_s);
    json.field("start_timeout_s", spawn.start_timeout_s).close_object();
}

void put_order(JsonWriter& json, const keys::controller::SentOrder& sent) {
    const keys::controller::Order& order = sent.order;
    json.open_object().field("number", order.number).field("kind", order.start ? "spawn" : "terminate");
    json.field("backend", order.backend);
    if (order.start) {
        put_key(json, order.start->key);
        json.field("token", order.start->token).field("ttl_ms", to_ms(order.start->ttl));
        json.field("renew_at_ms", sent.deadlines.renew_at_ms);
        json.field("soft_terminate_at_ms", sent.deadlines.soft_terminate_at_ms);
        json.field("hard_terminate_at_ms", sent.deadlines.hard_terminate_at_ms);
        put_spawn(json, order.start->spawn);
    } else {
        json.field("how", order.how == keys::controller::Severity::hard ? "hard" : "soft");
    }
    json.close_object();
}

Response answer_drone(const keys::controller::DroneView& drone) {
    return answer_one("drone", drone, put_drone);
}

Response answer_drones(const keys::controller::DronePage& page) {
    return answer_page("drones", page.drones, page.more ? page.drones.back().id : std::string(), put_drone);
}

Response answer_forgotten(const keys::controller::DroneView& drone) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", drone.id).flag("forgotten", true).close_object();
    return response;
}

Response answer_drone_heartbeat(const keys::controller::HeartbeatAnswer& answer, const std::string& controller) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("controller", controller).flag("send_all", answer.send_all).flag("drain", answer.drain);
    json.field("heartbeat_in_ms", to_ms(keys::controller::limits::heartbeat_every)).key("reasserted").open_array();
    for (const std::string& backend : answer.reasserted)
        json.text(backend);
    json.close_array().close_object();
    return response;
}

Response answer_orders(const keys::controller::OrdersAnswer& answer, const std::string& controller) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("controller", controller).key("orders").open_array();
    for (const keys::controller::SentOrder& order : answer.orders)
        put_order(json, order);
    json.close_array().close_object();
    return response;
}

}  // namespace

void handle_list_drones(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_drones(services.controller.drones(decoded->after, decoded->limit)));
}

void handle_get_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto drone = services.controller.drone(id);
    if (!drone) return reply(failure(Code::unknown_drone));
    reply(answer_drone(*drone));
}

void handle_forget_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto answer = services.controller.forget_drone(id);
    if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
    reply(answer_forgotten(std::get<keys::controller::DroneView>(answer)));
}

void handle_drain_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    const auto draining = decode_drain(request);
    if (!draining) return reply(failure(draining.error()));
    const auto answer = services.controller.drain(id, *draining);
    if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
    reply(answer_drone(std::get<keys::controller::DroneView>(answer)));
}

void handle_drone_heartbeat(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_drone_heartbeat(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.heartbeat(
        std::move(*decoded),
        [reply, life = services.controller.life()](const authority::Answer<keys::controller::HeartbeatAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_drone_heartbeat(std::get<keys::controller::HeartbeatAnswer>(answer), life));
        });
}

void handle_drone_orders(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_orders(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    decoded->connection = request.connection;
    reply.when_gone(
        [&services, id, connection = request.connection] { services.controller.connection_ended(id, connection); });
    const auto ticket = services.controller.orders(
        *decoded,
        [reply, life = services.controller.life()](const authority::Answer<keys::controller::OrdersAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_orders(std::get<keys::controller::OrdersAnswer>(answer), life));
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.controller.cancel_orders(ticket); });
}

}  // namespace holdfast::doors::http
