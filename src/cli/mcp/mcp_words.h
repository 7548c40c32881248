#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/mcp/mcp_leases.h"
#include "cli/mcp/mcp_protocol.h"

namespace holdfast {

/// Answers to the model. A failure says what to do next: a model retries when it does not understand an error.

/// The arguments are invalid.
McpOutcome wrong_arguments(const std::string& problem);
/// No server answered.
McpOutcome no_server(const Error& error);
/// The server refused.
McpOutcome refused(const Answer& answer);

/// The fields of a lease that a model needs.
boost::json::object brief(const boost::json::value& lease);
boost::json::object brief(const McpLeases::Held& lease);

/// A sentence that a grant or a renewal has a shorter TTL than requested; empty if it has not.
std::string describe_cut(const boost::json::value& answer);

/// Adds sentences for the model.
void add_notes(McpOutcome& outcome, boost::json::array notes);

/// Puts the losses first.
void tell_lost(McpOutcome& outcome, const std::vector<McpLeases::Lost>& lost);

}  // namespace holdfast
