#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace holdfast::cli::mcp {

/// A tool call to execute and answer.
struct McpCall {
    JsonValue id;
    std::string tool;
    JsonValue arguments;
    std::string version;  ///< of the protocol, for the form of the answer
};

/// The reaction to a line of input.
struct McpReaction {
    JsonValue::List answers;           ///< ready to be sent
    std::vector<McpCall> calls;        ///< to be executed; their answers are sent with the ready ones
    std::vector<JsonValue> cancelled;  ///< ids of calls that the client cancelled
    bool batch = false;                ///< all answers are sent together, as an array
};

/// The result of a tool call.
struct McpOutcome {
    std::string text;  ///< for the model, which can act on it
    JsonValue content;
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
        JsonValue::List tools;     ///< as tools/list shows them
    };
    explicit McpProtocol(About about) : about_(std::move(about)) {}

    McpReaction take(std::string_view line);
    /// The answer to a line that was too long to be read.
    static JsonValue too_long();
    /// The answer to a call.
    JsonValue answer(const McpCall& call, const McpOutcome& outcome) const;

 private:
    struct Request;

    void take_message(const JsonValue& message, McpReaction& reaction);
    void take_request(const Request& request, McpReaction& reaction);
    static void take_notification(std::string_view method, const JsonValue& params, McpReaction& reaction);
    /// The protocol version of a request; empty if the request was answered with an error.
    std::string version_of(const Request& request, McpReaction& reaction) const;
    JsonValue initialize(const Request& request);
    JsonValue discover() const;
    JsonValue list_tools(const Request& request, const std::string& version) const;
    void call_tool(const Request& request, const std::string& version, McpReaction& reaction) const;
    JsonValue complete(const JsonValue& id, const std::string& version, JsonValue result) const;
    JsonValue server_info() const;

    const About about_;
    std::string negotiated_;  ///< by `initialize`; empty before
};

}  // namespace holdfast::cli::mcp
