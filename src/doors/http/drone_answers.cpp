#include "doors/http/key_answers.h"
#include "doors/http/key_json.h"
#include "doors/http/page_answer.h"
#include "keys/controller/key_limits.h"

namespace holdfast::http {
namespace {

void put_drone(JsonWriter& json, const core::DroneView& drone) {
    json.open_object().field("id", drone.id).field("life", core::shown_life(drone.life)).field("pool", drone.pool);
    json.field_or_null("address", drone.address);
    json.field("capacity", std::uint64_t{drone.capacity}).field("backends", std::uint64_t{drone.backends});
    json.field("orders", std::uint64_t{drone.orders}).flag("draining", drone.draining).flag("healthy", drone.healthy);
    json.field("heard_ms_ago", to_ms(drone.heard_ago)).close_object();
}

void put_number_or_null(JsonWriter& json, std::string_view name, std::optional<std::uint64_t> number) {
    json.key(name);
    number ? json.number(*number) : json.null();
}

void put_ready(JsonWriter& json, const core::Readiness& ready) {
    json.key("ready").open_object();
    switch (ready.how) {
        case core::Readiness::How::tcp:
            json.flag("tcp", true);
            break;
        case core::Readiness::How::http:
            json.field("http", ready.path);
            break;
        case core::Readiness::How::started:
            json.flag("started", true);
            break;
    }
    json.close_object();
}

void put_spawn(JsonWriter& json, const core::Spawn& spawn) {
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

void put_order(JsonWriter& json, const core::SentOrder& sent) {
    const core::Order& order = sent.order;
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
        json.field("how", order.how == core::Severity::hard ? "hard" : "soft");
    }
    json.close_object();
}

}  // namespace

Response answer_drone(const core::DroneView& drone) {
    return answer_one("drone", drone, put_drone);
}

Response answer_drones(const core::DronePage& page) {
    return answer_page("drones", page.drones, page.more ? page.drones.back().id : std::string(), put_drone);
}

Response answer_forgotten(const core::DroneView& drone) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", drone.id).flag("forgotten", true).close_object();
    return response;
}

Response answer_drone_heartbeat(const core::HeartbeatAnswer& answer, const std::string& controller) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("controller", controller).flag("send_all", answer.send_all).flag("drain", answer.drain);
    json.field("heartbeat_in_ms", to_ms(core::limits::heartbeat_every)).key("reasserted").open_array();
    for (const std::string& backend : answer.reasserted)
        json.text(backend);
    json.close_array().close_object();
    return response;
}

Response answer_orders(const core::OrdersAnswer& answer, const std::string& controller) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("controller", controller).key("orders").open_array();
    for (const core::SentOrder& order : answer.orders)
        put_order(json, order);
    json.close_array().close_object();
    return response;
}

}  // namespace holdfast::http
