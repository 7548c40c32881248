#pragma once

#include <string>

#include "cli/api.h"
#include "cli/options.h"

namespace holdfast {

/// The path of an agent, its id escaped.
std::string agent_target(const std::string& id);

/// Registers an agent, or brings it up to date (G5). An empty priority or `now` leaves it to the server: what it was,
/// else the server's time.
Result<Answer> register_agent(Api& api, const AgentArguments& agent);

}  // namespace holdfast
