#include "doors/http/key_answers.h"

#include "base/text.h"
#include "doors/http/key_json.h"
#include "doors/http/page_answer.h"

namespace holdfast::http {

void put_key(JsonWriter& json, const core::Key& key) {
    json.key("key").open_object().field("namespace", key.name_space).field("name", key.name);
    json.field("tag", key.tag).close_object();
}

namespace {

void put_backend(JsonWriter& json, const core::BackendView& view, Instant now) {
    const core::Backend& backend = view.backend;
    const core::BackendProgress& progress = backend.progress;
    json.open_object().field("id", backend.id);
    put_key(json, backend.key);
    json.field("token", backend.token).field("drone", backend.drone);
    json.field("state", core::to_string(progress.state));
    json.field_or_null("reason", progress.reason ? core::to_string(*progress.reason) : std::string_view());
    json.key("exit_code");
    progress.exit_code ? json.number(*progress.exit_code) : json.null();
    json.field_or_null("address", progress.address);
    json.field("state_for_ms", to_ms(now - backend.since));
    if (!backend.user.empty()) json.field("user", backend.user);
    if (!progress.message.empty()) json.field("message", progress.message);
    if (view.drone_heard_ago) json.field("drone_heard_ms_ago", to_ms(*view.drone_heard_ago));
    json.close_object();
}

void put_held_key(JsonWriter& json, const core::HeldKey& held) {
    json.open_object();
    put_key(json, held.key);
    json.field("backend", held.backend).field("drone", held.drone).field("token", held.token);
    json.field_or_null("state", held.state ? core::to_string(*held.state) : std::string_view());
    json.flag("renewable", held.renewable).field("ttl_ms", to_ms(held.ttl));
    json.field("expires_in_ms", to_ms(held.expires_in)).close_object();
}

}  // namespace

Response answer_connect(const core::Connected& connected) {
    const core::Backend& backend = connected.backend;
    Response response{.status = connected.spawned ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object().field("backend_id", backend.id);
    put_key(json, backend.key);
    json.flag("spawned", connected.spawned).field("status", core::to_string(backend.progress.state));
    const auto& reason = backend.progress.reason;
    json.field_or_null("reason", reason ? core::to_string(*reason) : std::string_view());
    json.field("token", backend.token);
    json.field_or_null("address", backend.progress.address);
    json.field("status_url", "/v1/backends/" + percent_encode(backend.id) + "/status");
    json.field("drone", backend.drone).close_object();
    return response;
}

Response answer_keys(const core::KeyPage& page) {
    return answer_page("keys", page.keys, page.next, put_held_key);
}

Response answer_key(const core::HeldKey& key) {
    Response response;
    JsonWriter json(response.body);
    put_held_key(json, key);
    return response;
}

Response answer_backend(const core::BackendView& backend, Instant now) {
    return answer_one("backend", backend,
                      [now](JsonWriter& json, const core::BackendView& view) { put_backend(json, view, now); });
}

Response answer_backends(const core::BackendPage& page, const core::UnreportedBackends& unreported, Instant now) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("backends").open_array();
    for (const core::BackendView& view : page.backends)
        put_backend(json, view, now);
    json.close_array().key("unreported").open_array();
    for (const core::HeldKey& held : unreported.keys) {
        json.open_object().field("id", held.backend);
        put_key(json, held.key);
        json.field("token", held.token).field("drone", held.drone).close_object();
    }
    json.close_array().flag("complete", unreported.complete).field_or_null("next", page.next).close_object();
    return response;
}

std::string status_event(const core::BackendView& backend, Instant now) {
    std::string text = "event: status\ndata: ";
    JsonWriter json(text);
    put_backend(json, backend, now);
    return text + "\n\n";
}

}  // namespace holdfast::http
