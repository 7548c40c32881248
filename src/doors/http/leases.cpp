#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/random.h"
#include "base/result.h"
#include "base/text.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/lease_json.h"
#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/resource.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using authority::Refused;

struct DecodedAcquire {
    authority::AcquireRequest request;
    std::optional<std::uint64_t> client_time_ms;
};

struct DecodedRenewal {
    authority::RenewRequest request;
    bool all = false;  ///< the body named no leases
    std::optional<std::uint64_t> client_time_ms;
};

lease::Predicate predicate_field(JsonFields& fields) {
    const auto text = fields.text("predicate");
    if (!text) return lease::Predicate::mutates;
    const auto predicate = lease::parse_predicate(*text);
    if (!predicate) {
        std::string names;
        for (const lease::Predicate each : lease::all_predicates)
            names += (names.empty() ? "" : ", ") + std::string(to_string(each));
        fields.refuse("predicate must be one of " + names);
    }
    return predicate.value_or(lease::Predicate::mutates);
}

/// The resource under its canonical name. checked_manifest() would normalise it too, but not say which intent is wrong.
lease::Intent intent_field(JsonFields& fields, std::string_view name_space) {
    const auto resource = lease::normalised(fields.text("resource").value_or(""));
    if (!resource) {
        fields.check(resource.error());
        return {};
    }
    fields.check(lease::check_resource(*resource));
    return {lease::full_name(name_space, *resource), lease::Predicate::mutates};
}

Result<std::vector<lease::Intent>> decode_intents(const JsonValue& list, std::string_view name_space) {
    std::vector<lease::Intent> intents;
    intents.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const std::string path = fmt::format("intents[{}]", i);
        if (list.items[i].kind != JsonValue::Kind::object) return invalid_argument(path + " must be an object");
        JsonFields fields(list.items[i], path + ".");
        lease::Intent intent = intent_field(fields, name_space);
        intent.predicate = predicate_field(fields);
        if (auto error = fields.error()) return *error;
        intents.push_back(std::move(intent));
    }
    return lease::checked_manifest(std::move(intents));
}

std::string metadata_field(JsonFields& fields) {
    const JsonValue* metadata = fields.object("metadata");
    if (metadata == nullptr) return {};
    std::string text = to_text(*metadata);
    if (text.size() > lease::limits::metadata_bytes)
        fields.refuse(fmt::format("metadata is longer than {} bytes of JSON", lease::limits::metadata_bytes));
    return text;
}

/// The intents to acquire: one resource, or a list.
Result<std::vector<lease::Intent>> decode_manifest(JsonFields& fields, std::string_view name_space) {
    const JsonValue* list = fields.array("intents", lease::limits::intents_per_manifest);
    const bool has_list = fields.has("intents");
    if (has_list && fields.has("resource")) fields.refuse("give either resource or intents, not both");
    if (!has_list) {
        std::vector<lease::Intent> one{intent_field(fields, name_space)};
        return one;
    }
    fields.any("resource");
    if (list == nullptr) return std::vector<lease::Intent>{};
    return decode_intents(*list, name_space);
}

/// A lease with its progress, or just its name.
Result<authority::LeaseToRenew> decode_lease_to_renew(const JsonValue& item, const std::string& path) {
    authority::LeaseToRenew lease;
    const JsonValue* id = &item;
    if (item.kind == JsonValue::Kind::object) {
        JsonFields fields(item, path + ".");
        id = fields.any("id");
        lease.progress = progress_field(fields);
        if (id == nullptr) fields.refuse(path + ".id is missing");
        if (auto error = fields.error()) return *error;
    }
    auto name = decode_listed(*id, path);
    if (!name) return name.error();
    lease.name = std::move(*name);
    return lease;
}

Result<std::vector<authority::LeaseToRenew>> decode_leases_to_renew(const JsonValue& list) {
    std::vector<authority::LeaseToRenew> leases;
    leases.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        auto lease = decode_lease_to_renew(list.items[i], lease_path(i));
        if (!lease) return lease.error();
        leases.push_back(std::move(*lease));
    }
    return leases;
}

/// The fields that every renewal has.
DecodedRenewal renewal_fields(const Request& request, JsonFields& fields) {
    DecodedRenewal renewal;
    renewal.request.caller = caller_of(request);
    renewal.request.holder = holder_field(fields);
    renewal.request.epoch = epoch_field(fields);
    renewal.request.ttl = fields.milliseconds("ttl_ms");
    renewal.request.progress = progress_field(fields);
    renewal.client_time_ms = fields.whole("client_time_ms", 0, max_client_time_ms);
    return renewal;
}

Result<DecodedAcquire> decode_acquire(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    DecodedAcquire decoded;
    authority::AcquireRequest& acquire = decoded.request;
    acquire.caller = caller_of(request);
    acquire.holder = holder_field(fields);
    acquire.epoch = epoch_field(fields);
    acquire.session = fields.plain_text("session", lease::limits::session_bytes);
    const std::string name_space = fields.text("namespace").value_or("");
    fields.check(lease::check_namespace(name_space));
    auto manifest = decode_manifest(fields, name_space);
    acquire.ttl = fields.milliseconds("ttl_ms");
    acquire.wait = fields.milliseconds("wait_ms").value_or(0ms);
    acquire.progress = progress_field(fields);
    acquire.reason = fields.plain_text("reason", lease::limits::reason_bytes);
    acquire.metadata = metadata_field(fields);
    acquire.idempotency_key = fields.plain_text("idempotency_key", lease::limits::idempotency_key_bytes);
    decoded.client_time_ms = fields.whole("client_time_ms", 0, max_client_time_ms);
    if (auto error = fields.error()) return *error;
    if (!manifest) return manifest.error();
    acquire.intents = std::move(*manifest);
    return decoded;
}

Result<DecodedRenewal> decode_renewal(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    DecodedRenewal renewal = renewal_fields(request, fields);
    const JsonValue* leases = fields.array("leases", lease::limits::leases_per_request);
    if (auto error = fields.error()) return *error;
    renewal.all = leases == nullptr;
    if (renewal.all) return renewal;
    auto named = decode_leases_to_renew(*leases);
    if (!named) return named.error();
    renewal.request.leases = std::move(*named);
    for (authority::LeaseToRenew& lease : renewal.request.leases)
        if (!lease.progress) lease.progress = renewal.request.progress;
    return renewal;
}

Result<DecodedRenewal> decode_single_renewal(const Request& request, const std::string& id) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    DecodedRenewal renewal = renewal_fields(request, fields);
    if (auto error = fields.error()) return *error;
    auto name = decode_lease_name(id);
    if (!name) return name.error();
    renewal.request.leases.push_back({std::move(*name), renewal.request.progress});
    return renewal;
}

Result<authority::ReleaseRequest> decode_release(const Request& request, const std::string& id) {
    auto query = Query::parse(request.query);
    if (!query) return query.error();
    const auto holder_in_query = query->text("holder", lease::limits::holder_bytes);
    const auto epoch_in_query = query->whole("epoch", 1, max_count);
    const auto session_in_query = query->text("session", lease::limits::session_bytes);
    if (auto error = query->error()) return *error;
    auto body = read_json_object(request.body);
    if (!body) return body.error();
    JsonFields fields(*body);
    const auto holder = fields.text("holder");
    const auto session = fields.plain_text("session", lease::limits::session_bytes);
    const auto epoch = epoch_field(fields);
    if (holder_in_query && holder) fields.refuse("give holder once, in the query or in the body");
    if (epoch_in_query && epoch) fields.refuse("give epoch once, in the query or in the body");
    if (session_in_query && !session.empty()) fields.refuse("give session once, in the query or in the body");
    authority::ReleaseRequest release;
    release.caller = caller_of(request);
    release.holder = holder_in_query ? *holder_in_query : holder.value_or("");
    release.epoch = epoch_in_query ? epoch_in_query : epoch;
    release.session = session_in_query ? *session_in_query : session;
    fields.check(lease::check_holder(release.holder));
    if (auto error = fields.error()) return *error;
    auto name = decode_lease_name(id);
    if (!name) return name.error();
    release.name = std::move(*name);
    return release;
}

/// Size of a response to many renewals above which the holders' own texts are omitted.
constexpr std::size_t renewals_bytes_whole = 1024 * 1024;

void put_error(JsonWriter& json, Code code, std::string_view detail) {
    json.key("error").open_object().field("code", name_of(code));
    json.field("message", message_of(code, detail)).close_object();
}

void put_ttl_cut(JsonWriter& json, const std::optional<authority::TtlCut>& cut) {
    if (!cut) return;
    json.key("ttl_cut").open_object();
    json.field("requested_ms", to_ms(cut->requested)).field("granted_ms", to_ms(cut->granted)).close_object();
}

Response granted(const authority::AcquireGranted& answer, ClientTime client_time) {
    Response response{.status = 201};
    JsonWriter json(response.body);
    json.open_object().field("verdict", "GRANTED").field("waited_ms", to_ms(answer.waited));
    if (client_time) *client_time += static_cast<std::uint64_t>(to_ms(answer.waited));
    json.key("leases").open_array();
    for (const authority::HeldLease& held : answer.leases)
        put_lease(json, {held.resource, held.lease, held.timeline, true}, client_time);
    json.close_array();
    put_ttl_cut(json, answer.ttl_cut);
    json.close_object();
    return response;
}

/// WAIT says that the request may wait, or might have waited longer; DIE that it must not (G5).
Response busy(const authority::AcquireBusy& answer) {
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

Response refused(const authority::Refused& answer, std::string_view key, std::string_view value) {
    Response response{.status = status_of(answer.code), .code = answer.code, .retry_in = answer.retry_in};
    JsonWriter json(response.body);
    json.open_object().field(key, value);
    put_error(json, answer.code, answer.detail);
    if (answer.retry_in) json.field("retry_in_ms", to_ms_up(*answer.retry_in));
    json.close_object();
    return response;
}

Response answer_acquire(const authority::AcquireAnswer& answer, ClientTime client_time) {
    if (const auto* grant = std::get_if<authority::AcquireGranted>(&answer)) return granted(*grant, client_time);
    if (const auto* taken = std::get_if<authority::AcquireBusy>(&answer)) return busy(*taken);
    return refused(std::get<authority::Refused>(answer), "verdict", "REFUSED");
}

Response answer_renewal(const authority::RenewAnswer& answer, ClientTime client_time, bool brief = false) {
    const auto* renewed = std::get_if<authority::RenewedLease>(&answer.result);
    if (renewed == nullptr) return refused(std::get<authority::Refused>(answer.result), "result", "REJECTED");
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("result", "RENEWED").key("lease");
    put_lease(json, {renewed->held.resource, renewed->held.lease, renewed->held.timeline, false, brief}, client_time);
    put_ttl_cut(json, renewed->ttl_cut);
    json.close_object();
    return response;
}

Response answer_renewals(const authority::RenewAllAnswer& all, ClientTime client_time) {
    std::uint64_t renewed = 0;
    std::string results;
    JsonWriter list(results);
    list.open_array();
    for (const authority::RenewAnswer& answer : all.answers) {
        const bool brief = results.size() > renewals_bytes_whole;
        const Response one = answer_renewal(answer, client_time, brief);
        renewed += one.code ? 0 : 1;
        std::string id;
        JsonWriter(id).text(to_string(answer.name));
        list.raw("{\"id\":" + id + "," + one.body.substr(1));
    }
    list.close_array();
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("renewed", renewed).field("rejected", all.answers.size() - renewed);
    json.flag("more", all.more).key("results").raw(results).close_object();
    return response;
}

Response answer_release(const lease::LeaseName& name, const authority::ReleaseAnswer& answer) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", to_string(name)).flag("released", answer.released);
    json.field("state", to_string(answer.state)).close_object();
    return response;
}

Response answer_bar(const authority::HeldLease& held) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("lease");
    put_lease(json, {held.resource, held.lease, held.timeline});
    json.close_object();
    return response;
}

Response answer_revoke(const lease::LeaseName& name) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", to_string(name));
    json.field("state", to_string(lease::LeaseState::revoked)).close_object();
    return response;
}

/// Only the session proves the leader, so every leader gets one (R2): without it, a leader could not step down. Other
/// leases of its manifest share the session and must not show it.
void name_session_of_leader(authority::AcquireRequest& request) {
    const auto leads = [](const lease::Intent& intent) {
        return lease::owner_of(intent.resource) == lease::Owner::leaders;
    };
    if (!request.session.empty() || std::none_of(request.intents.begin(), request.intents.end(), leads)) return;
    request.session = request.idempotency_key.empty() ? random_hex(16) : request.idempotency_key;
    const bool has_room = request.session.size() + lease::private_session.size() <= lease::limits::session_bytes;
    if (!std::all_of(request.intents.begin(), request.intents.end(), leads) && has_room)
        request.session.insert(0, lease::private_session);
}

/// The lease named by an admin's request. The body must be empty.
Result<lease::LeaseName> decode_named(const Request& request, const std::string& id) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing.error();
    return decode_lease_name(id);
}

Callback<authority::Answer<authority::HeldLease>> reply_barred(Reply reply) {
    return [reply = std::move(reply)](const authority::Answer<authority::HeldLease>& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_bar(std::get<authority::HeldLease>(answer)));
    };
}

}  // namespace

void handle_acquire(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_acquire(request);
    if (!decoded) return reply(failure(decoded.error()));
    name_session_of_leader(decoded->request);
    const ClientTime client_time = decoded->client_time_ms;
    if (decoded->request.wait > Duration::zero()) decoded->request.reachable = [reply] { return reply.reachable(); };
    const auto ticket = services.authority.acquire(std::move(decoded->request),
                                                   [reply, client_time](const authority::AcquireAnswer& answer) {
                                                       if (reply.open()) reply(answer_acquire(answer, client_time));
                                                   });
    if (ticket != 0) reply.wait([&services, ticket] { services.authority.cancel(ticket); });
}

void handle_renew(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_single_renewal(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    const ClientTime client_time = decoded->client_time_ms;
    services.authority.renew(std::move(decoded->request),
                             [reply, client_time](const std::vector<authority::RenewAnswer>& answers) {
                                 if (!reply.open()) return;
                                 HOLDFAST_ASSERT(answers.size() == 1);
                                 reply(answer_renewal(answers.front(), client_time));
                             });
}

void handle_renew_many(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_renewal(request);
    if (!decoded) return reply(failure(decoded.error()));
    const ClientTime client_time = decoded->client_time_ms;
    const auto tell = [reply, client_time](const authority::RenewAllAnswer& all) {
        if (reply.open()) reply(answer_renewals(all, client_time));
    };
    if (!decoded->all)
        return services.authority.renew(
            std::move(decoded->request),
            [tell](std::vector<authority::RenewAnswer> answers) { tell({std::move(answers)}); });
    services.authority.renew_all(std::move(decoded->request),
                                 [reply, tell](const authority::Answer<authority::RenewAllAnswer>& answer) {
                                     if (const auto* refused = std::get_if<Refused>(&answer))
                                         return reply(failure(*refused));
                                     tell(std::get<authority::RenewAllAnswer>(answer));
                                 });
}

void handle_release(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_release(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    lease::LeaseName name = decoded->name;
    services.authority.release(std::move(*decoded), [reply, name = std::move(name)](
                                                        const authority::Answer<authority::ReleaseAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_release(name, std::get<authority::ReleaseAnswer>(answer)));
    });
}

void handle_bar(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto name = decode_named(request, id);
    if (!name) return reply(failure(name.error()));
    services.authority.bar(std::move(*name), reply_barred(std::move(reply)), caller_of(request));
}

/// A lease that belongs to a service is not freed while its work may run (R7). It is barred instead, and a key's
/// backend is ended now.
void handle_revoke(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto name = decode_named(request, id);
    if (!name) return reply(failure(name.error()));
    const lease::Owner owner = lease::owner_of(name->resource);
    if (owner == lease::Owner::keys)
        return services.controller.revoke(*name, reply_barred(std::move(reply)), caller_of(request));
    if (owner != lease::Owner::nobody)
        return services.authority.bar(std::move(*name), reply_barred(std::move(reply)), caller_of(request));
    services.authority.revoke(
        *name,
        [reply, name = *name](const authority::Answer<lease::Lease>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_revoke(name));
        },
        caller_of(request));
}

}  // namespace holdfast::doors::http
