#include "doors/http/answers.h"

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "lease/manifest.h"

namespace holdfast::http {

std::string Moment::shown(Instant instant) {
    return format_wall_time(shown_wall_ms(instant));
}

Response failure(const core::Refused& refused) {
    return failure(refused.code, refused.detail, refused.retry_in);
}

void put_conflicts(JsonWriter& json, const std::vector<core::NamedConflict>& conflicts) {
    json.key("conflicts").open_array();
    for (const core::NamedConflict& named : conflicts) {
        const core::Conflict& conflict = named.conflict;
        json.open_object().field("resource", core::split_name(named.resource).resource);
        json.field("predicate", core::to_string(conflict.predicate)).field("holder", conflict.holder);
        if (conflict.token != 0) json.field("token", conflict.token);
        if (!conflict.reason.empty()) json.field("reason", conflict.reason);
        json.field("expires_in_ms", to_ms(conflict.expires_in)).flag("waiting", conflict.token == 0);
        json.flag("reserved", conflict.reserved).close_object();
    }
    json.close_array();
}

std::string event_json(const core::Event& event, const Moment& moment) {
    std::string text;
    JsonWriter json(text);
    const core::SplitName split = core::split_name(event.resource);
    json.open_object().field("type", core::to_string(event.kind));
    json.field("lease", core::to_string(core::LeaseName{event.resource, event.token}));
    json.field("namespace", split.name_space).field("resource", split.resource);
    json.field("predicate", core::to_string(event.predicate)).field("holder", event.holder);
    json.field("token", event.token).field("at", moment.shown(event.at)).close_object();
    return text;
}

void put_key(JsonWriter& json, const core::Key& key) {
    json.key("key").open_object().field("namespace", key.name_space).field("name", key.name);
    json.field("tag", key.tag).close_object();
}

void put_ban(JsonWriter& json, const std::string& holder, const core::Ban& ban) {
    json.open_object().field("holder", holder).field("reason", ban.reason);
    json.field("since", format_wall_time(ban.since_wall_ms)).close_object();
}

Response answer_ban(const std::string& holder, const core::Ban& ban) {
    Response response;
    JsonWriter json(response.body);
    put_ban(json, holder, ban);
    return response;
}

}  // namespace holdfast::http
