#include "doors/http/answers.h"

#include "base/text.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {

Response failure(const authority::Refused& refused) {
    return failure(refused.code, refused.detail, refused.retry_in);
}

void put_conflicts(JsonWriter& json, const std::vector<authority::NamedConflict>& conflicts) {
    json.key("conflicts").open_array();
    for (const authority::NamedConflict& named : conflicts) {
        const lease::Conflict& conflict = named.conflict;
        json.open_object().field("resource", lease::split_name(named.resource).resource);
        json.field("predicate", to_string(conflict.predicate)).field("holder", conflict.holder);
        if (conflict.token != 0) json.field("token", conflict.token);
        if (!conflict.reason.empty()) json.field("reason", conflict.reason);
        json.field("expires_in_ms", to_ms(conflict.expires_in)).flag("waiting", conflict.token == 0);
        json.flag("reserved", conflict.reserved).close_object();
    }
    json.close_array();
}

void put_ban(JsonWriter& json, const std::string& holder, const lease::Ban& ban) {
    json.open_object().field("holder", holder).field("reason", ban.reason);
    json.field("since", format_wall_time(ban.since_wall_ms)).close_object();
}

Response answer_ban(const std::string& holder, const lease::Ban& ban) {
    Response response;
    JsonWriter json(response.body);
    put_ban(json, holder, ban);
    return response;
}

}  // namespace holdfast::doors::http
