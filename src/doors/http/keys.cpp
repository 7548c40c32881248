#include <fmt/format.h>
#include <string>

#include "base/result.h"
#include "base/text.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/request.h"
#include "doors/http/response.h"
#include "keys/controller/messages.h"
#include "keys/protocol_json.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using authority::Refused;

struct DecodedBackends {
    keys::controller::Backends::Filter filter;
    DecodedPage page;
};

struct DecodedKeys {
    std::string name_space;
    std::size_t limit = 100;
    std::string after;
};

Result<keys::controller::SpawnRequest> spawn_of(const JsonValue& object) {
    JsonFields fields(object, "spawn.");
    keys::controller::SpawnRequest request;
    request.spawn = keys::spawn_from(fields);
    if (fields.has("pool")) request.pool = keys::plain_name_field(fields, "pool", keys::limits::pool_bytes);
    if (fields.has("id")) request.id = keys::plain_name_field(fields, "id", keys::limits::backend_id_bytes);
    if (auto error = fields.error()) return *error;
    return request;
}

Result<keys::controller::ConnectRequest> decode_connect(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    keys::controller::ConnectRequest connect;
    connect.caller = caller_of(request);
    connect.user = fields.plain_text("user", keys::limits::user_bytes);
    const std::uint64_t max_s = std::chrono::duration_cast<std::chrono::seconds>(keys::limits::connect_wait).count();
    connect.wait = std::chrono::seconds(fields.whole("wait_s", 0, max_s).value_or(0));
    connect.ttl = fields.milliseconds("ttl_ms");
    const JsonValue* key = fields.object("key");
    const JsonValue* spawn = fields.object("spawn");
    if (auto error = fields.error()) return *error;
    auto named = keys::key_from(key, keys::NameNeed::optional);
    if (!named) return named.error();
    connect.key = std::move(*named);
    if (spawn == nullptr) return connect;
    auto what = spawn_of(*spawn);
    if (!what) return what.error();
    connect.spawn = std::move(*what);
    return connect;
}

Result<DecodedBackends> decode_backends(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedBackends decoded;
    decoded.filter.name = query->text("key", keys::limits::key_name_bytes).value_or("");
    decoded.filter.name_space = query->text("namespace", lease::limits::namespace_bytes).value_or("");
    decoded.filter.drone = query->text("drone", lease::limits::holder_bytes).value_or("");
    const auto state = query->text("state", 32);
    if (state) decoded.filter.state = keys::parse_backend_state(*state);
    if (state && !decoded.filter.state) query->check(invalid_argument("state is not one that a backend has"));
    decoded.page.after = query->text("after", keys::limits::backend_id_bytes).value_or("");
    decoded.page.limit = query->whole("limit", 1, 1000).value_or(100);
    if (auto error = query->error()) return *error;
    return decoded;
}

Result<keys::Severity> decode_terminate(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    const std::string how = fields.text("how").value_or("soft");
    if (how != "soft" && how != "hard") fields.refuse("how must be soft or hard");
    if (auto error = fields.error()) return *error;
    return how == "hard" ? keys::Severity::hard : keys::Severity::soft;
}

Result<DecodedKeys> decode_keys(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedKeys keys;
    keys.name_space = query->text("namespace", lease::limits::namespace_bytes).value_or("");
    keys.limit = query->whole("limit", 1, 1000).value_or(100);
    keys.after = query->text("after", lease::limits::cursor_bytes).value_or("");
    query->check(lease::check_namespace(keys.name_space));
    if (auto error = query->error()) return *error;
    return keys;
}

Result<keys::Key> decode_key_only(const Request& request, const std::string& key) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing.error();
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) return keys::checked_key({{}, key, {}});
    return keys::checked_key({key.substr(0, slash), key.substr(slash + 1), {}});
}

void put_backend(JsonWriter& json, const keys::controller::BackendView& view, Instant now) {
    const keys::controller::Backend& backend = view.backend;
    const keys::BackendProgress& progress = backend.progress;
    json.open_object().field("id", backend.id);
    keys::put_key(json, backend.key);
    json.field("token", backend.token).field("drone", backend.drone);
    json.field("state", to_string(progress.state));
    json.field_or_null("reason", progress.reason ? to_string(*progress.reason) : std::string_view());
    json.key("exit_code");
    progress.exit_code ? json.number(*progress.exit_code) : json.null();
    json.field_or_null("address", progress.address);
    json.field("state_for_ms", to_ms(now - backend.since));
    if (!backend.user.empty()) json.field("user", backend.user);
    if (!progress.message.empty()) json.field("message", progress.message);
    if (view.drone_heard_ago) json.field("drone_heard_ms_ago", to_ms(*view.drone_heard_ago));
    json.close_object();
}

void put_held_key(JsonWriter& json, const keys::controller::HeldKey& held) {
    json.open_object();
    keys::put_key(json, held.key);
    json.field("backend", held.backend).field("drone", held.drone).field("token", held.token);
    json.field_or_null("state", held.state ? to_string(*held.state) : std::string_view());
    json.flag("renewable", held.renewable).field("ttl_ms", to_ms(held.ttl));
    json.field("expires_in_ms", to_ms(held.expires_in)).close_object();
}

Response answer_connect(const keys::controller::Connected& connected) {
    const keys::controller::Backend& backend = connected.backend;
    Response response{.status = connected.spawned ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object().field("backend_id", backend.id);
    keys::put_key(json, backend.key);
    json.flag("spawned", connected.spawned).field("status", to_string(backend.progress.state));
    const auto& reason = backend.progress.reason;
    json.field_or_null("reason", reason ? to_string(*reason) : std::string_view());
    json.field("token", backend.token);
    json.field_or_null("address", backend.progress.address);
    json.field("status_url", "/v1/backends/" + percent_encode(backend.id) + "/status");
    json.field("drone", backend.drone).close_object();
    return response;
}

Response answer_keys(const keys::controller::KeyPage& page) {
    return answer_page("keys", page.keys, page.next, put_held_key);
}

Response answer_key(const keys::controller::HeldKey& key) {
    Response response;
    JsonWriter json(response.body);
    put_held_key(json, key);
    return response;
}

Response answer_backend(const keys::controller::BackendView& backend, Instant now) {
    return answer_one("backend", backend, [now](JsonWriter& json, const keys::controller::BackendView& view) {
        put_backend(json, view, now);
    });
}

Response answer_backends(const keys::controller::BackendPage& page,
                         const keys::controller::UnreportedBackends& unreported, Instant now) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("backends").open_array();
    for (const keys::controller::BackendView& view : page.backends)
        put_backend(json, view, now);
    json.close_array().key("unreported").open_array();
    for (const keys::controller::HeldKey& held : unreported.keys) {
        json.open_object().field("id", held.backend);
        keys::put_key(json, held.key);
        json.field("token", held.token).field("drone", held.drone).close_object();
    }
    json.close_array().flag("complete", unreported.complete).field_or_null("next", page.next).close_object();
    return response;
}

std::string status_event(const keys::controller::BackendView& backend, Instant now) {
    std::string text = "event: status\ndata: ";
    JsonWriter json(text);
    put_backend(json, backend, now);
    return text + "\n\n";
}

void reply_unknown(Services& services, const std::string& id, Reply reply) {
    services.controller.why_unknown(id,
                                    [reply = std::move(reply)](const authority::Refused& why) { reply(failure(why)); });
}

}  // namespace

void handle_connect(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_connect(request);
    if (!decoded) return reply(failure(decoded.error()));
    if (decoded->spawn && !services.spawns) return reply(failure(Code::spawn_not_allowed));
    const auto ticket = services.controller.connects().connect(
        std::move(*decoded), [reply](const authority::Answer<keys::controller::Connected>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_connect(std::get<keys::controller::Connected>(answer)));
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.controller.connects().cancel(ticket); });
}

void handle_list_keys(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_keys(request);
    if (!decoded) return reply(failure(decoded.error()));
    store::ListQuery query;
    query.name_space = decoded->name_space;
    query.limit = decoded->limit;
    query.after = decoded->after;
    services.controller.keys(query, [reply](const authority::Answer<keys::controller::KeyPage>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_keys(std::get<keys::controller::KeyPage>(answer)));
    });
}

void handle_bar_key(Services& services, const Request& request, const std::string& key, Reply reply) {
    const auto decoded = decode_key_only(request, key);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.bar(
        *decoded,
        [reply](const authority::Answer<keys::controller::HeldKey>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_key(std::get<keys::controller::HeldKey>(answer)));
        },
        caller_of(request));
}

void handle_list_backends(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_backends(request);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.unreported(
        decoded->filter, [&services, query = *decoded, reply](keys::controller::UnreportedBackends unreported) {
            const auto page = services.controller.backends(query.filter, query.page.after, query.page.limit);
            if (!query.page.after.empty()) unreported.keys.clear();  // they were on the first page
            reply(answer_backends(page, unreported, services.authority.now()));
        });
}

void handle_get_backend(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto backend = services.controller.backend(id);
    if (!backend) return reply_unknown(services, id, std::move(reply));
    reply(answer_backend(*backend, services.authority.now()));
}

/// Streams the current status, then each change. Ends when the backend has ended.
void handle_backend_status(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    if (!services.controller.backend(id)) return reply_unknown(services, id, std::move(reply));
    reply.stream(Feed([&services, id](const Tell& tell) -> Feeding {
        const auto told = [&services, tell](const keys::controller::BackendView& view) {
            tell(status_event(view, services.authority.now()), view.backend.ended());
        };
        const auto backend = services.controller.backend(id);
        const auto watch = services.controller.watch(id, told);
        told(*backend);
        return {[&services, id, watch] { services.controller.unwatch(id, watch); }};
    }));
}

void handle_terminate_backend(Services& services, const Request& request, const std::string& id, Reply reply) {
    const auto how = decode_terminate(request);
    if (!how) return reply(failure(how.error()));
    const auto answer = services.controller.terminate(id, *how);
    const auto* refused = std::get_if<authority::Refused>(&answer);
    if (refused != nullptr && refused->code == Code::unknown_backend)
        return reply_unknown(services, id, std::move(reply));
    if (refused != nullptr) return reply(failure(*refused));
    reply(answer_backend(std::get<keys::controller::BackendView>(answer), services.authority.now()));
}

}  // namespace holdfast::doors::http
