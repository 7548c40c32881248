#include <string>

#include "base/result.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/request.h"
#include "doors/http/response.h"
#include "keys/controller/messages.h"
#include "keys/protocol_json.h"

namespace holdfast::doors::http {
namespace {

using authority::Refused;

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
    const auto body = body_only(request);
    if (!body) return reply(failure(body.error()));
    auto heartbeat = keys::heartbeat_from(*body, id);
    if (!heartbeat) return reply(failure(heartbeat.error()));
    services.controller.endpoint().heartbeat(
        std::move(*heartbeat), [reply](const authority::Answer<keys::HeartbeatAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(Response{.body = keys::to_json(std::get<keys::HeartbeatAnswer>(answer))});
        });
}

void handle_drone_orders(Services& services, const Request& request, const std::string& id, Reply reply) {
    const auto body = body_only(request);
    if (!body) return reply(failure(body.error()));
    auto asked = keys::orders_request_from(*body, id);
    if (!asked) return reply(failure(asked.error()));
    asked->connection = request.connection;
    reply.when_gone([&services, id, connection = request.connection] {
        services.controller.endpoint().connection_ended(id, connection);
    });
    const auto ticket =
        services.controller.endpoint().orders(*asked, [reply](const authority::Answer<keys::OrdersAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(Response{.body = keys::to_json(std::get<keys::OrdersAnswer>(answer))});
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.controller.endpoint().cancel(ticket); });
}

}  // namespace holdfast::doors::http
