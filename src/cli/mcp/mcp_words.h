#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/mcp/mcp_leases.h"
#include "cli/mcp/mcp_protocol.h"
#include "client/transport.h"

namespace holdfast::cli::mcp {

/// All that the model is told: the tools, and the answers to its calls. A failure says what to do next, since a model
/// repeats a call whose error it does not understand.

/// Limits of a tool call. The wait stays below the timeout of hosts.
inline constexpr std::chrono::milliseconds max_mcp_wait{50'000};
inline constexpr std::chrono::milliseconds max_mcp_ttl{std::chrono::hours{24}};
inline constexpr std::size_t max_mcp_intents = 256;
inline constexpr std::size_t max_mcp_leases = 1000;
inline constexpr std::int64_t max_mcp_list = 1000;

/// The tools, as tools/list shows them: names, descriptions, JSON schemas of the arguments.
JsonValue::List mcp_tool_list();

/// General instructions. Paths are relative to `root`; empty if there is none.
std::string mcp_instructions(const std::string& holder, const std::string& root);

/// The arguments are invalid.
McpOutcome wrong_arguments(const std::string& problem);
/// No server answered, or it refused.
McpOutcome not_done(const Error& error);
McpOutcome not_done(const Failure& failure);
/// REQUIRES: an error, or an answer that is not ok().
McpOutcome not_done(const Result<Answer>& answer);
/// The same for a claim, with its verdict.
McpOutcome not_granted(const Failure& failure);

/// The fields of a lease that a model needs.
JsonValue brief(const JsonValue& lease);
/// Of a lease of this holder.
JsonValue brief(const Grant& lease, const std::string& holder, Duration left);

/// A sentence that a grant or a renewal has a shorter TTL than requested; empty if it has not.
std::string describe_cut(const client::Timing& timing);

/// Adds sentences for the model.
void add_notes(McpOutcome& outcome, JsonValue::List notes);

/// Puts the losses first.
void report_lost(McpOutcome& outcome, const std::vector<McpLeases::Lost>& lost);

}  // namespace holdfast::cli::mcp
