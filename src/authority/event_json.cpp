#include "authority/event_json.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "lease/manifest.h"

namespace holdfast::authority {

std::string event_json(const Event& event, std::int64_t at_wall_ms) {
    std::string text;
    JsonWriter json(text);
    const lease::SplitName split = lease::split_name(event.resource);
    json.open_object().field("type", to_string(event.kind));
    json.field("lease", to_string(lease::LeaseName{event.resource, event.token}));
    json.field("namespace", split.name_space).field("resource", split.resource);
    json.field("predicate", to_string(event.predicate)).field("holder", event.holder);
    json.field("token", event.token).field("at", format_wall_time(at_wall_ms)).close_object();
    return text;
}

}  // namespace holdfast::authority
