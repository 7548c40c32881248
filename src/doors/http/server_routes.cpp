#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/metrics.h"
#include "doors/http/routes.h"

namespace holdfast::doors::http {
namespace {

/// A shortage that prevents new grants, while held leases can still be renewed and released.
std::optional<Trouble> want_of_room(const authority::Authority& authority) {
    if (authority.memory_full())
        return Trouble{"memory_full",
                       "the memory limit (--max-memory) is reached: leases are renewed and released, but none is "
                       "granted until others have ended; end some, or raise the limit"};
    if (authority.token_headroom() == 0)
        return Trouble{"tokens_exhausted",
                       "no fencing tokens are left, since the disk or the store has not reserved more: leases are "
                       "renewed and released, but none is granted; check the disk"};
    return std::nullopt;
}

/// The most important problem of this server. Problems that prevent grants come first.
std::optional<Trouble> trouble_of(const Services& services) {
    const authority::Authority& authority = services.authority;
    if (authority.stopping()) return Trouble{"stopping", "the server is stopping"};
    if (const Error* away = services.store_trouble()) return Trouble{"store_unavailable", away->message};
    if (const Duration left = authority.recovering_for(); left > Duration::zero()) {
        constexpr std::string_view after_unclean_stop =
            "leases that were granted before an unclean stop may still be held, so nothing is granted until they have "
            "ended; wait, and do not restart the server";
        const std::string& why = authority.recovering_why();
        return Trouble{"recovering", why.empty() ? std::string(after_unclean_stop) : why, left};
    }
    std::optional<Trouble> own = services.own_trouble ? services.own_trouble() : std::nullopt;
    if (own && !own->grants) return own;
    std::optional<Trouble> room = want_of_room(authority);
    return room ? room : own;
}

}  // namespace

void handle_health(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const authority::Authority& authority = services.authority;
    const std::optional<Trouble> trouble = trouble_of(services);
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("status", trouble ? trouble->code : "ok").flag("ready", !trouble || trouble->grants);
    if (trouble) json.field("reason", trouble->reason);
    if (const Error* away = services.store_trouble()) json.field("trouble", away->message);
    json.field("recovering_for_ms", to_ms_up(authority.recovering_for())).field("version", services.version);
    json.field("active_leases", authority.active_leases()).field("waiters", authority.waiters());
    if (services.quorum_status) json.key("quorum").raw(services.quorum_status());
    json.close_object();
    reply(std::move(response));
}

void handle_ready(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const std::optional<Trouble> trouble = trouble_of(services);
    const bool ready = !trouble || trouble->grants;
    Response response;
    JsonWriter json(response.body);
    json.open_object().flag("ready", ready).field("code", trouble ? trouble->code : "ok");
    if (trouble) json.field("reason", trouble->reason);
    if (!ready) {
        response.status = 503;
        response.code = Code::unavailable;
        response.retry_in = trouble->left;
    }
    if (trouble && trouble->left) json.field("retry_in_ms", to_ms_up(*trouble->left));
    json.close_object();
    reply(std::move(response));
}

void handle_store(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    Response response;
    response.body = services.store_status();
    reply(std::move(response));
}

void handle_quorum(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    if (!services.quorum_status) return reply(failure(Code::not_clustered));
    Response response;
    response.body = services.quorum_status();
    reply(std::move(response));
}

void handle_metrics(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    services.metrics.set_leases(services.authority.active_leases(), services.authority.waiters());
    services.metrics.set_keys(services.controller.counts());
    services.metrics.set_services(services.directory.counts());
    const std::optional<Trouble> trouble = trouble_of(services);
    MetricNumbers numbers;
    if (services.numbers) numbers = services.numbers();
    numbers.push_back({"holdfast_ready", "Whether leases can be granted", !trouble || trouble->grants ? 1.0 : 0.0});
    numbers.push_back({"holdfast_recovering_seconds", "How long nothing is granted after an unclean stop",
                       std::chrono::duration<double>(services.authority.recovering_for()).count()});
    services.metrics.set(numbers);
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

}  // namespace holdfast::doors::http
