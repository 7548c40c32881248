#include "client/agent/agent_messages.h"

#include <boost/json.hpp>

#include "client/json_reader.h"
#include "client/messages.h"
#include "lease/lease.h"
#include "lease/manifest.h"

namespace holdfast {

namespace {

namespace json = boost::json;

Error bad_answer() {
    return {"bad_answer", "the server's answer makes no sense"};
}

VerifiedLease read_lease(JsonReader& reader, const json::object& result) {
    VerifiedLease lease{.id = reader.text(result, "id"), .state = reader.text(result, "state")};
    if (const auto name = core::parse_lease_name(lease.id)) lease.resource = core::split_name(name->resource).resource;
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

}  // namespace holdfast
