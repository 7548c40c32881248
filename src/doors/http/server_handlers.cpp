#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/metrics.h"
#include "doors/http/openapi.h"

namespace holdfast::http {
namespace {

std::string_view status_of(const core::Authority& authority, const Error* trouble) {
    if (authority.stopping()) return "stopping";
    if (trouble != nullptr) return "store_unavailable";
    return authority.recovering_for() > Duration::zero() ? "recovering" : "ok";
}

}  // namespace

void handle_health(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const core::Authority& authority = services.authority;
    const Error* trouble = services.store_trouble();
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("status", status_of(authority, trouble));
    if (trouble != nullptr) json.field("trouble", trouble->message);
    json.field("recovering_for_ms", to_ms_up(authority.recovering_for())).field("version", services.version);
    json.field("active_leases", authority.active_leases()).field("waiters", authority.waiters());
    if (services.quorum_status) json.key("quorum").raw(services.quorum_status());
    json.close_object();
    reply(std::move(response));
}

void handle_store(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    Response response;
    response.body = services.store_status();
    reply(std::move(response));
}

void handle_metrics(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    services.metrics.set_leases(services.authority.active_leases(), services.authority.waiters());
    services.metrics.set_keys(services.controller.counts());
    services.metrics.set_services(services.directory.counts());
    Response response;
    response.body = services.metrics.text();
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    reply(std::move(response));
}

void handle_openapi(Services&, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    Response response;
    response.body = openapi_json();
    reply(std::move(response));
}

void handle_events(Services&, const Request& request, const std::string&, Reply reply) {
    auto filter = decode_event_filter(request);
    if (!filter) return reply(failure(filter.error()));
    reply.stream(std::move(*filter));
}

}  // namespace holdfast::http
