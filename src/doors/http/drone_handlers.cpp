#include "doors/http/answers.h"
#include "doors/http/decode_keys.h"
#include "doors/http/handlers.h"
#include "doors/http/key_answers.h"

namespace holdfast::http {

using core::Refused;

void handle_list_drones(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_drones(services.controller.drones(decoded->after, decoded->limit)));
}

void handle_get_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto drone = services.controller.drone(id);
    if (!drone) return reply(failure(core::Code::unknown_drone));
    reply(answer_drone(*drone));
}

void handle_forget_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto answer = services.controller.forget_drone(id);
    if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
    reply(answer_forgotten(std::get<core::DroneView>(answer)));
}

void handle_drain_drone(Services& services, const Request& request, const std::string& id, Reply reply) {
    const auto draining = decode_drain(request);
    if (!draining) return reply(failure(draining.error()));
    const auto answer = services.controller.drain(id, *draining);
    if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
    reply(answer_drone(std::get<core::DroneView>(answer)));
}

void handle_drone_heartbeat(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_drone_heartbeat(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.heartbeat(std::move(*decoded), [reply, life = services.controller.life()](
                                                           const core::Answer<core::HeartbeatAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_drone_heartbeat(std::get<core::HeartbeatAnswer>(answer), life));
    });
}

void handle_drone_orders(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_orders(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    decoded->connection = request.connection;
    reply.when_gone(
        [&services, id, connection = request.connection] { services.controller.connection_ended(id, connection); });
    const auto ticket = services.controller.orders(
        *decoded, [reply, life = services.controller.life()](const core::Answer<core::OrdersAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_orders(std::get<core::OrdersAnswer>(answer), life));
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.controller.cancel_orders(ticket); });
}

}  // namespace holdfast::http
