#pragma once

#include <string>
#include <vector>

#include "client/http_connection.h"
#include "client/transport.h"

namespace holdfast {

/// What is said about agents, as JSON, as docs/http-api.md has it. As in messages.h, an answer that makes no sense is
/// an error, `bad_answer`.

std::string register_body(const AgentAsk& agent);
Result<AgentKnown> read_agent(const HttpResponse& response);

std::string restarting_body(const AgentAsk& agent);

std::string verify_body(const AgentAsk& agent);
Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response);

}  // namespace holdfast
