#pragma once

#include <boost/json/array.hpp>
#include <chrono>
#include <string>

namespace holdfast {

/// Limits of a tool call. The wait stays below the timeout of hosts.
inline constexpr std::chrono::milliseconds max_mcp_wait{50'000};
inline constexpr std::chrono::milliseconds max_mcp_ttl{std::chrono::hours{24}};
inline constexpr std::size_t max_mcp_intents = 256;
inline constexpr std::size_t max_mcp_leases = 1000;
inline constexpr std::int64_t max_mcp_list = 1000;

/// The tools, as tools/list shows them: names, descriptions for the model, JSON schemas of the arguments.
boost::json::array mcp_tool_list();

/// Instructions for the model. Paths are relative to `root`; empty if there is none.
std::string mcp_instructions(const std::string& holder, const std::string& root);

}  // namespace holdfast
