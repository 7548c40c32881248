#include "keys/controller/key.h"

#include <array>
#include <cstdio>

#include "base/json_fields.h"
#include "base/json_writer.h"
#include "base/rendezvous.h"

namespace holdfast::keys::controller {

std::string shown_life(std::string_view life) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(xxh64(life)));
    return digits.data();
}

std::string to_json(const KeyNote& note) {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("backend", note.backend).field("tag", note.tag).field("drone", note.drone);
    json.field("life", note.life);
    if (!note.user.empty()) json.field("spawned_by", note.user);
    json.close_object();
    return text;
}

KeyNote note_of(const lease::Lease& lease) {
    KeyNote note{lease.session, {}, lease.holder, {}, {}};
    const auto metadata = read_json_object(lease.metadata);
    if (!metadata) return note;
    JsonFields fields(*metadata);
    note.tag = fields.text("tag").value_or("");
    note.life = fields.text("life").value_or("");
    note.user = fields.text("spawned_by").value_or("");
    return note;
}

KeyTimeline key_timeline_of(const lease::Lease& lease) {
    return {lease.expires_at - lease.ttl / 2, lease.expires_at - lease.ttl / 3, lease.expires_at - lease.ttl / 6};
}

}  // namespace holdfast::keys::controller
