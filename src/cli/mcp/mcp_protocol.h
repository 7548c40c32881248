#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::mcp {

/// A tool call to execute and answer.
struct McpCall {
    boost::json::value id;
    std::string tool;
    boost::json::object arguments;
    std::string version;  ///< of the protocol, for the form of the answer
};

/// The reaction to a line of input.
struct McpReaction {
    boost::json::array answers;                 ///< ready to be sent
    std::vector<McpCall> calls;                 ///< to be executed; their answers are sent with the ready ones
    std::vector<boost::json::value> cancelled;  ///< ids of calls that the client cancelled
    bool batch = false;                         ///< all answers are sent together, as an array
};

/// The result of a tool call.
struct McpOutcome {
    std::string text;  ///< for the model, which can act on it
    boost::json::object content;
    bool failed = false;
};

/// The server's side of the Model Context Protocol, without its input and output: JSON-RPC 2.0 requests in, answers and
/// calls of tools out. It speaks both eras of the protocol: up to 2025-11-25 a session begins with `initialize`; from
/// 2026-07-28 on every request states its version in `_meta`. Any input is answered or ignored as the protocol says;
/// none is fatal.
class McpProtocol {
 public:
    struct About {
        std::string version;       ///< of this program
        std::string instructions;  ///< for the model
        boost::json::array tools;  ///< as tools/list shows them
    };
    explicit McpProtocol(About about) : about_(std::move(about)) {}

    McpReaction take(std::string_view line);
    /// The answer to a line that was too long to be read.
    static boost::json::value too_long();
    /// The answer to a call.
    boost::json::value answer(const McpCall& call, const McpOutcome& outcome) const;

 private:
    struct Request;

    void take_message(const boost::json::value& message, McpReaction& reaction);
    void take_request(const Request& request, McpReaction& reaction);
    static void take_notification(std::string_view method, const boost::json::object& params, McpReaction& reaction);
    /// The protocol version of a request; empty if the request was answered with an error.
    std::string version_of(const Request& request, McpReaction& reaction) const;
    boost::json::value initialize(const Request& request);
    boost::json::value discover() const;
    boost::json::value list_tools(const Request& request, const std::string& version) const;
    void call_tool(const Request& request, const std::string& version, McpReaction& reaction) const;
    boost::json::value complete(const Request& request, const std::string& version, boost::json::object result) const;
    boost::json::object server_info() const;

    const About about_;
    std::string negotiated_;  ///< by `initialize`; empty before
};

}  // namespace holdfast::cli::mcp
