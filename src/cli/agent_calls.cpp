#include "cli/agent_calls.h"

#include <boost/json/object.hpp>

#include "base/text.h"

namespace holdfast {

std::string agent_target(const std::string& id) {
    return "/v1/agents/" + percent_encode(id);
}

Result<Answer> register_agent(Api& api, const AgentArguments& agent) {
    boost::json::object body;
    if (const auto priority = parse_number(agent.priority)) body["priority"] = *priority;
    if (agent.epoch) body["epoch"] = *agent.epoch;
    return api.send("PUT", agent_target(agent.id), body);
}

}  // namespace holdfast
