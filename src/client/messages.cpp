#include "client/messages.h"

#include <boost/json.hpp>
#include <map>
#include <optional>
#include <utility>

#include "base/code.h"
#include "client/json_reader.h"
#include "lease/lease.h"
#include "lease/manifest.h"

namespace holdfast::client {
namespace {

namespace json = boost::json;

Timing read_timing(JsonReader& reader, const json::object& lease) {
    const auto& timeline = reader.object(lease, "timeline");
    return {{reader.milliseconds(timeline, "renew_in_ms"), reader.milliseconds(timeline, "soft_terminate_in_ms"),
             reader.milliseconds(timeline, "hard_terminate_in_ms"), reader.milliseconds(timeline, "expires_in_ms")},
            reader.milliseconds(lease, "ttl_ms")};
}

TimedGrant read_grant(JsonReader& reader, const json::object& lease) {
    Grant grant{reader.text(lease, "id"), reader.text(lease, "resource"), reader.text(lease, "predicate"),
                static_cast<std::uint64_t>(reader.number(lease, "token"))};
    return {.grant = std::move(grant), .timing = read_timing(reader, lease)};
}

AcquireReply read_granted(const HttpResponse& response) {
    JsonReader reader(response.body);
    const auto& answer = reader.object(reader.document());
    const Duration waited = answer.contains("waited_ms") ? reader.milliseconds(answer, "waited_ms") : Duration::zero();
    std::vector<TimedGrant> grants;
    for (const auto& lease : reader.array(answer, "leases")) {
        grants.push_back(read_grant(reader, reader.object(lease)));
        grants.back().sent_at = response.sent_at;
        grants.back().waited = waited;
    }
    if (!reader.ok() || grants.empty()) return NoAnswer{"the server's answer makes no sense"};
    return grants;
}

std::vector<Conflict> read_conflicts(JsonReader& reader, const json::object& answer) {
    std::vector<Conflict> conflicts;
    if (!answer.contains("conflicts")) return conflicts;
    for (const auto& entry : reader.array(answer, "conflicts")) {
        const auto& conflict = reader.object(entry);
        conflicts.push_back({reader.text(conflict, "resource"), reader.text(conflict, "predicate"),
                             reader.text(conflict, "holder"), reader.optional_text(conflict, "reason"),
                             reader.milliseconds(conflict, "expires_in_ms"), reader.flag(conflict, "waiting"),
                             reader.flag(conflict, "reserved")});
    }
    return conflicts;
}

AcquireReply read_refusal(const HttpResponse& response) {
    JsonReader reader(response.body);
    const auto& answer = reader.object(reader.document());
    const auto& error = reader.object(answer, "error");
    Failure failure{.code = reader.text(error, "code"), .message = reader.text(error, "message")};
    failure.outcome = outcome_of(failure.code, response.status);
    failure.conflicts = read_conflicts(reader, answer);
    if (answer.contains("retry_in_ms")) failure.retry_in = reader.milliseconds(answer, "retry_in_ms");
    if (answer.contains("queue_position"))
        failure.queue_position = static_cast<std::size_t>(reader.number(answer, "queue_position"));
    if (!reader.ok()) return NoAnswer{"the server answered " + std::to_string(response.status) + " without a reason"};
    return failure;
}

json::array to_json(const std::vector<Intent>& intents) {
    json::array list;
    for (const auto& intent : intents)
        list.push_back(json::object{{"resource", intent.resource}, {"predicate", intent.predicate.text()}});
    return list;
}

Result<json::value> parse_metadata(const std::string& metadata) {
    json::error_code bad;
    auto parsed = json::parse(metadata, bad);
    if (bad || !parsed.is_object()) return Error{"invalid_argument", "metadata must be a JSON object"};
    return parsed;
}

}  // namespace

Result<std::string> checked_metadata(const std::string& metadata) {
    if (metadata.empty()) return metadata;
    auto parsed = parse_metadata(metadata);
    if (!parsed) return parsed.error();
    return json::serialize(*parsed);
}

Outcome outcome_of(std::string_view code, int status) {
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
    const auto known = code_in(code);
    const auto found = known ? outcomes.find(*known) : outcomes.end();
    if (found != outcomes.end()) return found->second;
    return status >= 500 ? Outcome::unreachable : Outcome::refused;
}

std::optional<Absence> absence_of(std::string_view code) {
    const auto known = code_in(code);
    if (known == Code::stopping) return Absence::nothing_done;
    if (known == Code::unavailable || known == Code::store_unavailable || known == Code::storage_failed)
        return Absence::unknown;
    return std::nullopt;
}

std::optional<Absence> absence_in(const HttpResponse& response) {
    return response.status >= 500 ? absence_of(read_error(response).code) : std::nullopt;
}

Result<std::string> acquire_body(const AcquireAsk& ask) {
    json::object body{{"holder", ask.holder}, {"session", ask.session}, {"intents", to_json(ask.intents)}};
    if (ask.epoch) body["epoch"] = *ask.epoch;
    if (!ask.name_space.empty()) body["namespace"] = ask.name_space;
    if (ask.ttl > Duration::zero()) body["ttl_ms"] = to_ms(ask.ttl);
    if (ask.wait > Duration::zero()) body["wait_ms"] = to_ms(ask.wait);
    if (!ask.reason.empty()) body["reason"] = ask.reason;
    if (!ask.idempotency_key.empty()) body["idempotency_key"] = ask.idempotency_key;
    if (ask.metadata.empty()) return json::serialize(body);
    auto metadata = parse_metadata(ask.metadata);
    if (!metadata) return metadata.error();
    body["metadata"] = std::move(*metadata);
    return json::serialize(body);
}

AcquireReply read_acquire(const AcquireAsk& ask, const HttpResponse& response) {
    if (response.status / 100 != 2) return read_refusal(response);
    auto reply = read_granted(response);
    const auto* grants = std::get_if<std::vector<TimedGrant>>(&reply);
    if (grants != nullptr && grants->size() > ask.intents.size()) return NoAnswer{"the server granted more than asked"};
    return reply;
}

std::string renew_body(const NamedLeases& leases) {
    json::array list;
    for (const auto& [id, progress] : leases.leases) {
        if (progress)
            list.push_back(json::object{{"id", id}, {"progress", *progress}});
        else
            list.emplace_back(id);
    }
    json::object body{{"holder", leases.holder}, {"leases", std::move(list)}};
    if (leases.epoch) body["epoch"] = *leases.epoch;
    return json::serialize(body);
}

Result<std::vector<RenewReply>> read_renew(const NamedLeases& leases, const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    JsonReader reader(response.body);
    std::map<std::string, RenewReply> by_id;
    for (const auto& entry : reader.array(reader.object(reader.document()), "results")) {
        const auto& result = reader.object(entry);
        const auto id = reader.text(result, "id");
        if (result.contains("error")) {
            const auto& error = reader.object(result, "error");
            by_id.insert_or_assign(id, Error{reader.text(error, "code"), reader.text(error, "message")});
        } else {
            by_id.insert_or_assign(id, read_timing(reader, reader.object(result, "lease")));
        }
    }
    std::vector<RenewReply> replies;
    for (const auto& lease : leases.leases) {
        const auto found = by_id.find(lease.id);
        if (!reader.ok() || found == by_id.end()) return Error{"bad_answer", "the server's answer makes no sense"};
        replies.push_back(found->second);
    }
    return replies;
}

Error read_error(const HttpResponse& response) {
    JsonReader reader(response.body);
    const auto& error = reader.object(reader.object(reader.document()), "error");
    Error read{reader.text(error, "code"), reader.text(error, "message")};
    if (reader.ok()) return read;
    return {"bad_answer", "the server answered " + std::to_string(response.status) + " without a reason"};
}

namespace {

namespace json = boost::json;

Error bad_answer() {
    return {"bad_answer", "the server's answer makes no sense"};
}

VerifiedLease read_lease(JsonReader& reader, const json::object& result) {
    VerifiedLease lease{.id = reader.text(result, "id"), .state = reader.text(result, "state")};
    if (const auto name = lease::parse_lease_name(lease.id))
        lease.resource = lease::split_name(name->resource).resource;
    const char* const left = lease.state == "GRACE" ? "reserved_for_ms" : "expires_in_ms";
    if (result.contains(left)) lease.remaining = reader.milliseconds(result, left);
    return lease;
}

}  // namespace

std::string register_body(const AgentAsk& agent) {
    json::object body;
    if (agent.priority) body["priority"] = *agent.priority;
    if (agent.epoch) body["epoch"] = *agent.epoch;
    return json::serialize(body);
}

Result<AgentKnown> read_agent(const HttpResponse& response) {
    if (response.status / 100 != 2) return read_error(response);
    JsonReader reader(response.body);
    const auto& agent = reader.object(reader.object(reader.document()), "agent");
    const AgentKnown known{.priority = reader.any_number(agent, "priority"),
                           .epoch = static_cast<std::uint64_t>(reader.number(agent, "epoch")),
                           .deaths = static_cast<std::uint64_t>(reader.number(agent, "deaths")),
                           .created = response.status == 201};
    if (!reader.ok()) return bad_answer();
    return known;
}

std::string restarting_body(const AgentAsk& agent) {
    json::object body;
    if (agent.epoch) body["epoch"] = *agent.epoch;
    return json::serialize(body);
}

std::string verify_body(const AgentAsk& agent) {
    json::object body{{"holder", agent.id}};
    if (agent.epoch) body["epoch"] = *agent.epoch;
    return json::serialize(body);
}

Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response) {
    if (response.status != 200) return read_error(response);
    JsonReader reader(response.body);
    std::vector<VerifiedLease> leases;
    for (const auto& entry : reader.array(reader.object(reader.document()), "results"))
        leases.push_back(read_lease(reader, reader.object(entry)));
    if (!reader.ok()) return bad_answer();
    return leases;
}

}  // namespace holdfast::client
