#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/mcp/mcp_leases.h"
#include "cli/mcp/mcp_protocol.h"

namespace holdfast {

/// What a model is told. A failure says what to do next: a model tries again what it does not understand.

/// The arguments do not fit.
McpOutcome wrong_arguments(const std::string& problem);
/// No server answered.
McpOutcome no_server(const Error& error);
/// The server said no.
McpOutcome refused(const Answer& answer);

/// Of a lease, what a model needs.
boost::json::object brief(const boost::json::value& lease);
boost::json::object brief(const McpLeases::Held& lease);

/// That a grant or a renewal has a shorter TTL than was asked for; empty if it has not.
std::string describe_cut(const boost::json::value& answer);

/// Adds sentences that the model must know.
void add_notes(McpOutcome& outcome, boost::json::array notes);

/// Puts the losses in front of everything else.
void tell_lost(McpOutcome& outcome, const std::vector<McpLeases::Lost>& lost);

}  // namespace holdfast
