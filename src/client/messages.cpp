#include "client/messages.h"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

#include "base/code.h"
#include "base/json_fields.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "lease/lease.h"
#include "lease/manifest.h"
#include "lease/owner.h"

namespace holdfast::client {
namespace {

constexpr std::string_view no_sense = "the server's answer makes no sense";
/// An authority never sends a longer duration; a larger value is malformed.
constexpr std::uint64_t max_answer_ms = std::uint64_t{1000} * 60 * 60 * 24 * 365;
constexpr std::uint64_t max_number = INT64_MAX;

Error bad_answer() {
    return {Code::bad_answer, std::string(no_sense)};
}

std::string no_reason(int status) {
    return fmt::format("the server answered {} without a reason", status);
}

/// What is not a JSON object has no fields.
JsonValue body_of(const HttpResponse& response) {
    auto body = read_json_object(response.body, answer_limits);
    return body ? std::move(*body) : JsonValue{};
}

std::chrono::milliseconds read_ms(JsonFields& fields, std::string_view name) {
    return fields.need_milliseconds(name, max_answer_ms);
}

std::optional<std::chrono::milliseconds> read_optional_ms(JsonFields& fields, std::string_view name) {
    return fields.milliseconds(name, max_answer_ms);
}

Timing read_timing(JsonFields& lease) {
    JsonFields timeline = lease.need_object("timeline");
    return {{read_ms(timeline, "renew_in_ms"), read_ms(timeline, "soft_terminate_in_ms"),
             read_ms(timeline, "hard_terminate_in_ms"), read_ms(timeline, "expires_in_ms")},
            read_ms(lease, "ttl_ms")};
}

Grant read_grant(JsonFields& lease) {
    return {lease.need_text("id"), lease.need_text("resource"), lease.need_text("predicate"),
            lease.need_whole("token", 0, max_number)};
}

/// The requested TTL, if the policy cut it.
std::optional<Duration> read_cut(JsonFields& answer) {
    if (!answer.has("ttl_cut")) return std::nullopt;
    JsonFields cut = answer.need_object("ttl_cut");
    return read_ms(cut, "requested_ms");
}

AcquireReply read_granted(const HttpResponse& response) {
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    const Duration waited = read_optional_ms(answer, "waited_ms").value_or(0ms);
    const auto cut_from = read_cut(answer);
    std::vector<TimedGrant> grants;
    for (JsonFields& lease : answer.need_objects("leases")) {
        grants.push_back({read_grant(lease), read_timing(lease), response.sent_at, waited});
        grants.back().timing.cut_from = cut_from;
    }
    if (answer.mistake() || grants.empty()) return NoAnswer{std::string(no_sense)};
    return grants;
}

std::vector<Conflict> read_conflicts(JsonFields& answer) {
    std::vector<Conflict> conflicts;
    if (!answer.has("conflicts")) return conflicts;
    for (JsonFields& conflict : answer.need_objects("conflicts"))
        conflicts.push_back({conflict.need_text("resource"), conflict.need_text("predicate"),
                             conflict.need_text("holder"), conflict.text("reason").value_or(""),
                             read_ms(conflict, "expires_in_ms"), conflict.boolean("waiting").value_or(false),
                             conflict.boolean("reserved").value_or(false),
                             conflict.whole("token", 0, max_number).value_or(0)});
    return conflicts;
}

Error read_error(JsonFields& answer) {
    JsonFields error = answer.need_object("error");
    return {ErrorCode::named(error.need_text("code")), error.need_text("message")};
}

AcquireReply read_refusal(const HttpResponse& response) {
    auto failure = read_failure(body_of(response), response.status);
    if (!failure) return NoAnswer{no_reason(response.status)};
    return std::move(*failure);
}

void put_intents(JsonWriter& json, const std::vector<Intent>& intents) {
    json.key("intents").open_array();
    for (const Intent& intent : intents)
        json.open_object()
            .field("resource", intent.resource)
            .field("predicate", intent.predicate.text())
            .close_object();
    json.close_array();
}

void put_epoch(JsonWriter& json, std::optional<std::uint64_t> epoch) {
    if (epoch) json.field("epoch", *epoch);
}

/// What every renewal has.
void put_renewal(JsonWriter& json, const NamedLeases& leases) {
    json.field("holder", leases.holder);
    put_epoch(json, leases.epoch);
    if (leases.ttl) json.field("ttl_ms", to_ms(*leases.ttl));
}

/// A POST that may be repeated, with the fields that `put` writes.
template <class Put>
HttpRequest post(std::string target, Put put) {
    HttpRequest request{.method = "POST", .target = std::move(target), .repeatable = true};
    JsonWriter json(request.body);
    json.open_object();
    put(json);
    json.close_object();
    return request;
}

}  // namespace

Result<std::string> checked_metadata(const std::string& metadata) {
    if (metadata.empty()) return metadata;
    const auto parsed = read_json_object(metadata);
    if (!parsed) return Error{Code::invalid_argument, "metadata must be a JSON object"};
    return to_text(*parsed);
}

Outcome outcome_of(const ErrorCode& code, int status) {
    static const std::map<Code, Outcome> outcomes{
        {Code::busy, Outcome::busy},
        {Code::wait_timeout, Outcome::busy},
        {Code::idempotency_in_progress, Outcome::busy},
        {Code::too_many_leases, Outcome::busy},
        {Code::too_many_waiters, Outcome::busy},
        {Code::memory_full, Outcome::busy},
        {Code::recovering, Outcome::busy},  // another holder may still have it (S1)
        {Code::tokens_exhausted, Outcome::busy},
        {Code::too_many_agents, Outcome::busy},
        {Code::die, Outcome::die},
        {Code::cancelled, Outcome::unreachable},
        {Code::request_timeout, Outcome::unreachable},
        {Code::stopping, Outcome::unreachable},
        {Code::too_many_connections, Outcome::unreachable},
        // For an acquire whose first answer was lost: its lease has ended since (G7).
        {Code::lease_expired, Outcome::lost},
        {Code::lease_released, Outcome::lost},
        {Code::lease_revoked, Outcome::lost},
        {Code::unknown_lease, Outcome::lost},
    };
    const auto known = code.known();
    const auto found = known ? outcomes.find(*known) : outcomes.end();
    if (found != outcomes.end()) return found->second;
    return status >= 500 ? Outcome::unreachable : Outcome::refused;
}

std::optional<Absence> absence_of(const ErrorCode& code) {
    if (code == Code::stopping) return Absence::nothing_done;
    if (code == Code::unavailable || code == Code::store_unavailable || code == Code::storage_failed)
        return Absence::unknown;
    return std::nullopt;
}

std::optional<Absence> absence_in(const HttpResponse& response) {
    return response.status >= 500 ? absence_of(read_error(response).code) : std::nullopt;
}

std::optional<Failure> read_failure(const JsonValue& answer, int status) {
    JsonFields fields(answer);
    Error error = read_error(fields);
    Failure failure{.outcome = outcome_of(error.code, status),
                    .code = std::string(error.code.name()),
                    .message = std::move(error.message),
                    .conflicts = read_conflicts(fields),
                    .retry_in = read_optional_ms(fields, "retry_in_ms"),
                    .queue_position = fields.whole("queue_position", 0, max_number).value_or(0)};
    if (fields.mistake()) return std::nullopt;
    return failure;
}

std::vector<Conflict> read_conflicts(const JsonValue& answer) {
    JsonFields fields(answer);
    auto conflicts = read_conflicts(fields);
    return fields.mistake() ? std::vector<Conflict>{} : std::move(conflicts);
}

Result<HttpRequest> acquire_request(const AcquireAsk& ask) {
    const auto metadata = checked_metadata(ask.metadata);
    if (!metadata) return metadata.error();
    const bool at_once = ask.wait <= Duration::zero() && !ask.idempotency_key.empty();
    HttpRequest request{.method = "POST", .target = "/v1/leases", .repeatable = at_once};
    JsonWriter json(request.body);
    json.open_object().field("holder", ask.holder).field("session", ask.session);
    put_intents(json, ask.intents);
    put_epoch(json, ask.epoch);
    if (!ask.name_space.empty()) json.field("namespace", ask.name_space);
    if (ask.ttl > Duration::zero()) json.field("ttl_ms", to_ms(ask.ttl));
    if (ask.wait > Duration::zero()) json.field("wait_ms", to_ms(ask.wait));
    if (!ask.reason.empty()) json.field("reason", ask.reason);
    if (!ask.idempotency_key.empty()) json.field("idempotency_key", ask.idempotency_key);
    if (!metadata->empty()) json.key("metadata").raw(*metadata);
    json.close_object();
    return request;
}

AcquireReply read_acquire(const AcquireAsk& ask, const HttpResponse& response) {
    if (response.status / 100 != 2) return read_refusal(response);
    auto reply = read_granted(response);
    const auto* grants = std::get_if<std::vector<TimedGrant>>(&reply);
    if (grants != nullptr && grants->size() > ask.intents.size()) return NoAnswer{"the server granted more than asked"};
    return reply;
}

HttpRequest renew_request(const NamedLeases& leases) {
    return post("/v1/heartbeat", [&](JsonWriter& json) {
        put_renewal(json, leases);
        json.key("leases").open_array();
        for (const auto& [id, progress] : leases.leases)
            progress ? json.open_object().field("id", id).field("progress", *progress).close_object() : json.text(id);
        json.close_array();
    });
}

HttpRequest renew_one_request(const NamedLeases& leases) {
    const NamedLease& lease = leases.leases.front();
    return post(lease_target(lease.id) + "/heartbeat", [&](JsonWriter& json) {
        put_renewal(json, leases);
        if (lease.progress) json.field("progress", *lease.progress);
    });
}

HttpRequest renew_all_request(const NamedLeases& leases) {
    return post("/v1/heartbeat", [&](JsonWriter& json) { put_renewal(json, leases); });
}

std::string lease_target(std::string_view id) {
    return "/v1/leases/" + percent_encode(id);
}

HttpRequest release_request(const NamedLeases& leases, const std::string& id) {
    std::string target = fmt::format("{}?holder={}", lease_target(id), percent_encode(leases.holder));
    if (leases.epoch) target += fmt::format("&epoch={}", *leases.epoch);
    const bool leads = lease::owner_of(id) == lease::Owner::leaders;
    if (leads && !leases.session.empty()) target += fmt::format("&session={}", percent_encode(leases.session));
    return {.method = "DELETE", .target = std::move(target)};
}

Result<std::vector<RenewReply>> read_renew(const NamedLeases& leases, const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    std::map<std::string, RenewReply> by_id;
    for (JsonFields& result : answer.need_objects("results")) {
        const std::string id = result.need_text("id");
        if (result.has("error")) {
            by_id.insert_or_assign(id, read_error(result));
        } else {
            JsonFields lease = result.need_object("lease");
            Renewed renewed{read_timing(lease)};
            renewed.timing.cut_from = read_cut(result);
            renewed.grant = {id, lease.text("resource").value_or(""), lease.text("predicate").value_or(""),
                             lease.whole("token", 0, max_number).value_or(0)};
            by_id.insert_or_assign(id, std::move(renewed));
        }
    }
    if (answer.mistake()) return bad_answer();
    std::vector<RenewReply> replies;
    for (const auto& lease : leases.leases) {
        const auto found = by_id.find(lease.id);
        if (found == by_id.end()) return bad_answer();
        replies.push_back(found->second);
    }
    return replies;
}

ReleaseReply read_release(const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    std::string state = answer.need_text("state");
    if (answer.mistake()) return bad_answer();
    return Released{std::move(state)};
}

Error read_error(const HttpResponse& response) {
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    Error error = read_error(answer);
    if (!answer.mistake()) return error;
    return {Code::bad_answer, no_reason(response.status)};
}

// ---- agents ----

namespace {

VerifiedLease read_lease(JsonFields& result) {
    VerifiedLease lease{.id = result.need_text("id"), .state = result.need_text("state")};
    if (const auto name = lease::parse_lease_name(lease.id))
        lease.resource = lease::split_name(name->resource).resource;
    const char* const left = lease.state == "GRACE" ? "reserved_for_ms" : "expires_in_ms";
    if (const auto remaining = read_optional_ms(result, left)) lease.remaining = *remaining;
    return lease;
}

}  // namespace

std::string agent_target(std::string_view id) {
    return "/v1/agents/" + percent_encode(id);
}

HttpRequest register_request(const AgentAsk& agent) {
    HttpRequest request = post(agent_target(agent.id), [&](JsonWriter& json) {
        if (agent.priority) json.field("priority", *agent.priority);
        put_epoch(json, agent.epoch);
    });
    request.method = "PUT";
    return request;
}

Result<AgentKnown> read_agent(const HttpResponse& response) {
    if (response.status / 100 != 2) return read_error(response);
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    JsonFields agent = answer.need_object("agent");
    const AgentKnown known{.priority = agent.need_signed_whole("priority", INT64_MAX),
                           .epoch = agent.need_whole("epoch", 0, max_number),
                           .deaths = agent.need_whole("deaths", 0, max_number),
                           .created = response.status == 201};
    if (answer.mistake()) return bad_answer();
    return known;
}

HttpRequest restarting_request(const AgentAsk& agent) {
    return post(agent_target(agent.id) + "/restarting", [&](JsonWriter& json) { put_epoch(json, agent.epoch); });
}

HttpRequest verify_request(const AgentAsk& agent) {
    return post("/v1/verify", [&](JsonWriter& json) {
        json.field("holder", agent.id);
        put_epoch(json, agent.epoch);
    });
}

HttpRequest verify_request(const std::vector<std::string>& leases) {
    return post("/v1/verify", [&](JsonWriter& json) {
        json.key("leases").open_array();
        for (const std::string& id : leases)
            json.text(id);
        json.close_array();
    });
}

Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    const JsonValue body = body_of(response);
    JsonFields answer(body);
    std::vector<VerifiedLease> leases;
    for (JsonFields& result : answer.need_objects("results"))
        leases.push_back(read_lease(result));
    if (answer.mistake()) return bad_answer();
    return leases;
}

}  // namespace holdfast::client
