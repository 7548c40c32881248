#include "doors/http/answers.h"

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "doors/http/page_answer.h"
#include "lease/manifest.h"

namespace holdfast::http {
namespace {

using core::Code;

/// Of an answer about many renewals, after which what the holders wrote into their leases is left out.
constexpr std::size_t renewals_bytes_whole = 1024 * 1024;

void put_names(JsonWriter& json, std::string_view resource, core::Token token) {
    const core::SplitName split = core::split_name(resource);
    json.field("id", core::to_string(core::LeaseName{std::string(resource), token}));
    json.field("namespace", split.name_space).field("resource", split.resource);
}

void put_error(JsonWriter& json, Code code, std::string_view detail) {
    json.key("error").open_object().field("code", core::name_of(code));
    json.field("message", message_of(code, detail)).close_object();
}

void put_timeline(JsonWriter& json, const core::Timeline& timeline, ClientTime client_time) {
    json.key("timeline").open_object();
    json.field("renew_in_ms", to_ms(timeline.renew_in));
    json.field("soft_terminate_in_ms", to_ms(timeline.soft_terminate_in));
    json.field("hard_terminate_in_ms", to_ms(timeline.hard_terminate_in));
    json.field("expires_in_ms", to_ms(timeline.expires_in));
    if (client_time) {
        const auto base = static_cast<std::int64_t>(*client_time);  // decode.cpp keeps it low enough to add to
        json.field("renew_at_ms", base + to_ms(timeline.renew_in));
        json.field("soft_terminate_at_ms", base + to_ms(timeline.soft_terminate_in));
        json.field("hard_terminate_at_ms", base + to_ms(timeline.hard_terminate_in));
    }
    json.close_object();
}

struct LeaseView {
    std::string_view resource;
    const core::Lease& lease;
    const core::Timeline& timeline;
    bool granted = false;  ///< to whoever reads this
    bool brief = false;    ///< without what its holder wrote
};

/// The session of a leader proves that it is the leader (R2), so only the answer to its own request has it.
bool shows_session(const LeaseView& view) {
    return view.granted || core::owner_of(view.resource) != core::Owner::leaders;
}

void put_lease(JsonWriter& json, const LeaseView& view, ClientTime client_time, const Moment& moment) {
    const core::Lease& lease = view.lease;
    json.open_object();
    put_names(json, view.resource, lease.token);
    json.field("predicate", core::to_string(lease.predicate));
    json.field("holder", lease.holder);
    if (shows_session(view)) json.field("session", lease.session);
    json.field("token", lease.token);
    json.field("state", core::to_string(core::LeaseState::active)).flag("renewable", lease.renewable);
    if (!lease.reason.empty() && !view.brief) json.field("reason", lease.reason);
    if (!lease.metadata.empty() && !view.brief) json.key("metadata").raw(printable_json(lease.metadata));
    json.field("ttl_ms", to_ms(lease.ttl));
    const bool dated = lease.acquired_wall_ms != 0;
    json.field("acquired_at", dated ? format_wall_time(lease.acquired_wall_ms) : moment.shown(lease.acquired_at));
    json.field("expires_at", moment.shown(lease.expires_at));
    put_timeline(json, view.timeline, client_time);
    if (lease.priority) json.field("priority", *lease.priority);
    if (lease.progress) json.field("progress", lease.progress->count);
    json.close_object();
}

/// Whom a lease that has expired is kept for, and how long still (R5).
void put_grace(JsonWriter& json, const core::Verified& verified) {
    if (verified.state != core::LeaseState::grace) return;
    json.field("holder", verified.reserved_holder);
    json.field("reserved_for_ms", to_ms(verified.reserved_for.value_or(Duration::zero())));
}

void put_ttl_cut(JsonWriter& json, const std::optional<core::TtlCut>& cut) {
    if (!cut) return;
    json.key("ttl_cut").open_object();
    json.field("requested_ms", to_ms(cut->requested)).field("granted_ms", to_ms(cut->granted)).close_object();
}

Response granted(const core::AcquireGranted& answer, ClientTime client_time, const Moment& moment) {
    Response response{.status = 201};
    JsonWriter json(response.body);
    json.open_object().field("verdict", "GRANTED").field("waited_ms", to_ms(answer.waited));
    if (client_time) *client_time += static_cast<std::uint64_t>(to_ms(answer.waited));
    json.key("leases").open_array();
    for (const core::HeldLease& held : answer.leases)
        put_lease(json, {held.resource, held.lease, held.timeline, true}, client_time, moment);
    json.close_array();
    put_ttl_cut(json, answer.ttl_cut);
    json.close_object();
    return response;
}

/// WAIT says that the request may wait, or might have waited longer; DIE that it must not (G5).
Response busy(const core::AcquireBusy& answer) {
    const bool die = answer.code == Code::die;
    Response response{.status = status_of(answer.code), .code = answer.code};
    JsonWriter json(response.body);
    json.open_object().field("verdict", die ? "DIE" : "WAIT");
    put_error(json, answer.code, {});
    put_conflicts(json, answer.conflicts);
    if (!die) json.field("queue_position", std::uint64_t{answer.place});
    json.field("retry_in_ms", to_ms_up(answer.retry_in)).close_object();
    return response;
}

Response refused(const core::Refused& answer, std::string_view key, std::string_view value) {
    Response response{.status = status_of(answer.code), .code = answer.code, .retry_in = answer.retry_in};
    JsonWriter json(response.body);
    json.open_object().field(key, value);
    put_error(json, answer.code, answer.detail);
    if (answer.retry_in) json.field("retry_in_ms", to_ms_up(*answer.retry_in));
    json.close_object();
    return response;
}

void put_verified(JsonWriter& json, const core::VerifyAnswer& answer) {
    const core::Verified& verified = answer.verified;
    json.open_object().field("id", core::to_string(answer.name)).field("state", core::to_string(verified.state));
    if (verified.lease) {
        json.field("holder", verified.lease->holder);
        json.field("expires_in_ms", to_ms(verified.lease->expires_at - answer.at));
    }
    put_grace(json, verified);
    json.key("current").open_array();
    for (const core::Lease& lease : verified.current) {
        json.open_object().field("holder", lease.holder).field("predicate", core::to_string(lease.predicate));
        json.field("token", lease.token).field("expires_in_ms", to_ms(lease.expires_at - answer.at)).close_object();
    }
    json.close_array().close_object();
}

}  // namespace

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

Response answer_acquire(const core::AcquireAnswer& answer, ClientTime client_time, const Moment& moment) {
    if (const auto* grant = std::get_if<core::AcquireGranted>(&answer)) return granted(*grant, client_time, moment);
    if (const auto* taken = std::get_if<core::AcquireBusy>(&answer)) return busy(*taken);
    return refused(std::get<core::Refused>(answer), "verdict", "REFUSED");
}

namespace {

Response renewal(const core::RenewAnswer& answer, ClientTime client_time, const Moment& moment, bool brief) {
    const auto* renewed = std::get_if<core::RenewedLease>(&answer.result);
    if (renewed == nullptr) return refused(std::get<core::Refused>(answer.result), "result", "REJECTED");
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("result", "RENEWED").key("lease");
    put_lease(json, {renewed->held.resource, renewed->held.lease, renewed->held.timeline, false, brief}, client_time,
              moment);
    put_ttl_cut(json, renewed->ttl_cut);
    json.close_object();
    return response;
}

}  // namespace

Response answer_renewal(const core::RenewAnswer& answer, ClientTime client_time, const Moment& moment) {
    return renewal(answer, client_time, moment, false);
}

Response answer_renewals(const core::RenewAllAnswer& all, ClientTime client_time, const Moment& moment) {
    std::uint64_t renewed = 0;
    std::string results;
    JsonWriter list(results);
    list.open_array();
    for (const core::RenewAnswer& answer : all.answers) {
        const bool brief = results.size() > renewals_bytes_whole;
        const Response one = renewal(answer, client_time, moment, brief);
        renewed += one.code ? 0 : 1;
        std::string id;
        JsonWriter(id).text(core::to_string(answer.name));
        list.raw("{\"id\":" + id + "," + one.body.substr(1));
    }
    list.close_array();
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("renewed", renewed).field("rejected", all.answers.size() - renewed);
    json.flag("more", all.more).key("results").raw(results).close_object();
    return response;
}

Response answer_release(const core::LeaseName& name, const core::ReleaseAnswer& answer) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", core::to_string(name)).flag("released", answer.released);
    json.field("state", core::to_string(answer.state)).close_object();
    return response;
}

Response answer_lease(const core::VerifyAnswer& answer, const Moment& moment) {
    const core::Verified& verified = answer.verified;
    if (verified.state == core::LeaseState::unknown) return failure(Code::unknown_lease);
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("lease");
    if (verified.lease) {
        const core::Timeline timeline = answer.timeline.value_or(core::timeline_of(*verified.lease, answer.at));
        put_lease(json, {answer.name.resource, *verified.lease, timeline}, {}, moment);
    } else {
        json.open_object();
        put_names(json, answer.name.resource, answer.name.token);
        json.field("token", answer.name.token).field("state", core::to_string(verified.state));
        json.field("ended_ago_ms", to_ms(verified.ended_ago.value_or(Duration::zero())));
        put_grace(json, verified);
        json.close_object();
    }
    json.close_object();
    return response;
}

Response answer_list(const core::ListPage& page, const Moment& moment) {
    return answer_page("leases", page.leases, page.next, [&](JsonWriter& json, const core::NamedLease& named) {
        put_lease(json, {named.resource, named.lease, core::timeline_of(named.lease, moment.now)}, {}, moment);
    });
}

Response answer_verify(const std::vector<core::VerifyAnswer>& answers) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("results").open_array();
    for (const core::VerifyAnswer& answer : answers)
        put_verified(json, answer);
    json.close_array().close_object();
    return response;
}

Response answer_leader(const std::string& group, const core::VerifyAnswer& answer) {
    const core::Lease* leader = nullptr;
    for (const core::Lease& lease : answer.verified.current)
        if (lease.predicate == core::Predicate::mutates && (leader == nullptr || lease.token > leader->token))
            leader = &lease;
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("group", group).field("resource", answer.name.resource);
    if (leader != nullptr) {
        json.field("leader", leader->holder).field("token", leader->token);
        json.field("expires_in_ms", to_ms(leader->expires_at - answer.at));
    } else {
        json.key("leader").null().key("token").null().key("expires_in_ms").null();
    }
    json.close_object();
    return response;
}

Response answer_bar(const core::HeldLease& held, const Moment& moment) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("lease");
    put_lease(json, {held.resource, held.lease, held.timeline}, {}, moment);
    json.close_object();
    return response;
}

Response answer_revoke(const core::LeaseName& name) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", core::to_string(name));
    json.field("state", core::to_string(core::LeaseState::revoked)).close_object();
    return response;
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

}  // namespace holdfast::http
