#include "doors/http/lease_json.h"

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "lease/manifest.h"
#include "lease/owner.h"

namespace holdfast::doors::http {
namespace {

std::string shown_time(Instant instant) {
    return format_wall_time(shown_wall_ms(instant));
}

void put_timeline(JsonWriter& json, const lease::Timeline& timeline, ClientTime client_time) {
    json.key("timeline").open_object();
    json.field("renew_in_ms", to_ms(timeline.renew_in));
    json.field("soft_terminate_in_ms", to_ms(timeline.soft_terminate_in));
    json.field("hard_terminate_in_ms", to_ms(timeline.hard_terminate_in));
    json.field("expires_in_ms", to_ms(timeline.expires_in));
    if (client_time) {
        const auto base = static_cast<std::int64_t>(*client_time);  // max_client_time_ms keeps the sum in range
        json.field("renew_at_ms", base + to_ms(timeline.renew_in));
        json.field("soft_terminate_at_ms", base + to_ms(timeline.soft_terminate_in));
        json.field("hard_terminate_at_ms", base + to_ms(timeline.hard_terminate_in));
    }
    json.close_object();
}

/// The session of a leader proves that it is the leader (R2), so only the response to its own request has it.
bool shows_session(const LeaseView& view) {
    return view.granted || lease::shows_session(view.resource, view.lease.session);
}

}  // namespace

void put_names(JsonWriter& json, std::string_view resource, lease::Token token) {
    const lease::SplitName split = lease::split_name(resource);
    json.field("id", to_string(lease::LeaseName{std::string(resource), token}));
    json.field("namespace", split.name_space).field("resource", split.resource);
}

void put_lease(JsonWriter& json, const LeaseView& view, ClientTime client_time) {
    const lease::Lease& lease = view.lease;
    json.open_object();
    put_names(json, view.resource, lease.token);
    json.field("predicate", to_string(lease.predicate));
    json.field("holder", lease.holder);
    if (shows_session(view)) json.field("session", lease.session);
    json.field("token", lease.token);
    json.field("state", to_string(lease::LeaseState::active)).flag("renewable", lease.renewable);
    if (!lease.reason.empty() && !view.brief) json.field("reason", lease.reason);
    if (!lease.metadata.empty() && !view.brief) json.key("metadata").raw(printable_json(lease.metadata));
    json.field("ttl_ms", to_ms(lease.ttl));
    const bool dated = lease.acquired_wall_ms != 0;
    json.field("acquired_at", dated ? format_wall_time(lease.acquired_wall_ms) : shown_time(lease.acquired_at));
    json.field("expires_at", shown_time(lease.expires_at));
    put_timeline(json, view.timeline, client_time);
    if (lease.priority) json.field("priority", *lease.priority);
    if (lease.progress) json.field("progress", lease.progress->count);
    json.close_object();
}

void put_grace(JsonWriter& json, const lease::Verified& verified) {
    if (verified.state != lease::LeaseState::grace) return;
    json.field("holder", verified.reserved_holder);
    json.field("reserved_for_ms", to_ms(verified.reserved_for.value_or(Duration::zero())));
}

}  // namespace holdfast::doors::http
