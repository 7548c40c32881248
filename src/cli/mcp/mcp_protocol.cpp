#include "cli/mcp/mcp_protocol.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <ranges>

namespace holdfast::cli::mcp {
namespace {

namespace json = boost::json;

/// Versions whose sessions begin with `initialize`, oldest first.
constexpr std::array<std::string_view, 4> handshake_versions{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
/// In this version every request states its version.
constexpr std::string_view stateless_version = "2026-07-28";
constexpr std::string_view first_with_structured_content = "2025-06-18";
constexpr std::string_view first_without_batches = "2025-06-18";

constexpr std::string_view meta_version = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view meta_capabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view meta_server = "io.modelcontextprotocol/serverInfo";

constexpr std::size_t max_depth = 32;
constexpr std::size_t max_batch = 64;
/// The tools never change while the program runs.
constexpr std::int64_t cache_ms = 3'600'000;

enum ErrorCode : int {
    parse_error = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    unsupported_version = -32022
};

json::value error_answer(const json::value& id, int code, std::string_view message, json::value data = nullptr) {
    json::object error{{"code", code}, {"message", message}};
    if (!data.is_null()) error["data"] = std::move(data);
    return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}};
}

json::value result_answer(const json::value& id, json::object result) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

const json::value* member(const json::object& object, std::string_view name) {
    return object.if_contains(name);
}

bool is_id(const json::value& id) {
    return id.is_string() || id.is_int64() || id.is_uint64();
}

bool is_handshake_version(std::string_view version) {
    return std::ranges::find(handshake_versions, version) != handshake_versions.end();
}

json::array supported_versions() {
    json::array versions{stateless_version};
    for (const std::string_view version : handshake_versions | std::views::reverse)
        versions.emplace_back(version);
    return versions;
}

}  // namespace

struct McpProtocol::Request {
    const json::value& id;
    std::string method;
    json::object params;

    /// A field of `_meta`, or null.
    const json::value* meta(std::string_view name) const {
        const json::value* meta = member(params, "_meta");
        return meta != nullptr && meta->is_object() ? member(meta->get_object(), name) : nullptr;
    }
};

McpReaction McpProtocol::take(std::string_view line) {
    McpReaction reaction;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return reaction;
    json::parse_options options;
    options.max_depth = max_depth;
    boost::system::error_code malformed;
    const json::value message = json::parse(line, malformed, {}, options);
    if (malformed) {
        reaction.answers.push_back(error_answer(nullptr, parse_error, "not JSON: " + malformed.message()));
        return reaction;
    }
    const json::array* batch = message.if_array();
    if (batch == nullptr) {
        take_message(message, reaction);
        return reaction;
    }
    const bool has_batches = !negotiated_.empty() && negotiated_ < first_without_batches;
    if (!has_batches || batch->empty() || batch->size() > max_batch) {
        const char* why =
            !has_batches ? "this version of the protocol has no batches" : "a batch must have 1 to 64 messages";
        reaction.answers.push_back(error_answer(nullptr, invalid_request, why));
        return reaction;
    }
    reaction.batch = true;
    for (const json::value& one : *batch)
        take_message(one, reaction);
    return reaction;
}

json::value McpProtocol::too_long() {
    return error_answer(nullptr, invalid_request, "a message must not be longer than 1 MiB");
}

void McpProtocol::take_message(const json::value& message, McpReaction& reaction) {
    const auto refuse = [&](const json::value& id, int code, std::string_view why) {
        reaction.answers.push_back(error_answer(id, code, why));
    };
    const json::object* object = message.if_object();
    if (object == nullptr) return refuse(nullptr, invalid_request, "a message must be a JSON object");
    const json::value* id = member(*object, "id");
    const json::value known_id = id != nullptr && is_id(*id) ? *id : json::value(nullptr);
    const json::value* version = member(*object, "jsonrpc");
    if (version == nullptr || *version != "2.0") return refuse(known_id, invalid_request, R"("jsonrpc" must be "2.0")");
    const json::value* method = member(*object, "method");
    const bool is_response = method == nullptr && (object->contains("result") || object->contains("error"));
    if (is_response) return;  // this side sends no requests
    if (method == nullptr || !method->is_string()) return refuse(known_id, invalid_request, R"("method" must be text)");
    if (id != nullptr && !is_id(*id)) return refuse(nullptr, invalid_request, R"("id" must be text or a whole number)");
    const json::value* params = member(*object, "params");
    const bool params_fit = params == nullptr || params->is_object();
    if (id == nullptr) {
        if (params_fit && params != nullptr) take_notification(method->get_string(), params->get_object(), reaction);
        return;  // a notification is never answered
    }
    if (!params_fit) return refuse(*id, invalid_params, R"("params" must be an object)");
    take_request({*id, std::string(method->get_string()), params == nullptr ? json::object{} : params->get_object()},
                 reaction);
}

void McpProtocol::take_notification(std::string_view method, const json::object& params, McpReaction& reaction) {
    const json::value* id = member(params, "requestId");
    if (method == "notifications/cancelled" && id != nullptr && is_id(*id)) reaction.cancelled.push_back(*id);
}

void McpProtocol::take_request(const Request& request, McpReaction& reaction) {
    const bool is_stateless = request.meta(meta_version) != nullptr;
    if (request.method == "initialize" && !is_stateless) {
        reaction.answers.push_back(initialize(request));
        return;
    }
    if (request.method == "ping" && !is_stateless) {
        reaction.answers.push_back(result_answer(request.id, {}));
        return;
    }
    const std::string version = version_of(request, reaction);
    if (version.empty()) return;
    if (request.method == "tools/call") return call_tool(request, version, reaction);
    if (request.method == "tools/list")
        reaction.answers.push_back(list_tools(request, version));
    else if (request.method == "server/discover" && version == stateless_version)
        reaction.answers.push_back(complete(request, version, discover().get_object()));
    else
        reaction.answers.push_back(
            error_answer(request.id, method_not_found, fmt::format("there is no method '{}'", request.method)));
}

std::string McpProtocol::version_of(const Request& request, McpReaction& reaction) const {
    const auto refuse = [&](int code, std::string_view why, json::value data = nullptr) {
        reaction.answers.push_back(error_answer(request.id, code, why, std::move(data)));
        return std::string{};
    };
    const json::value* given = request.meta(meta_version);
    if (given == nullptr) {
        if (!negotiated_.empty()) return negotiated_;
        return refuse(invalid_params, "send 'initialize' first, or the protocol version in _meta of every request");
    }
    if (!given->is_string()) return refuse(invalid_params, "the protocol version in _meta must be text");
    const std::string_view version = given->get_string();
    if (version == negotiated_) return negotiated_;
    if (version != stateless_version)
        return refuse(unsupported_version, "Unsupported protocol version",
                      {{"supported", supported_versions()}, {"requested", *given}});
    const json::value* capabilities = request.meta(meta_capabilities);
    if (capabilities == nullptr || !capabilities->is_object())
        return refuse(invalid_params, fmt::format("_meta has no {}", meta_capabilities));
    return std::string(stateless_version);
}

json::value McpProtocol::initialize(const Request& request) {
    const json::value* asked = member(request.params, "protocolVersion");
    if (asked == nullptr || !asked->is_string())
        return error_answer(request.id, invalid_params, R"("protocolVersion" must be text)");
    if (!negotiated_.empty()) return error_answer(request.id, invalid_request, "this session is already initialized");
    const std::string_view wanted = asked->get_string();
    negotiated_ = is_handshake_version(wanted) ? wanted : handshake_versions.back();
    return result_answer(request.id, {{"protocolVersion", negotiated_},
                                      {"capabilities", {{"tools", {{"listChanged", false}}}}},
                                      {"serverInfo", server_info()},
                                      {"instructions", about_.instructions}});
}

json::value McpProtocol::discover() const {
    return {{"supportedVersions", supported_versions()},
            {"capabilities", {{"tools", {{"listChanged", false}}}}},
            {"instructions", about_.instructions},
            {"ttlMs", cache_ms},
            {"cacheScope", "private"}};
}

json::value McpProtocol::list_tools(const Request& request, const std::string& version) const {
    if (member(request.params, "cursor") != nullptr)
        return error_answer(request.id, invalid_params, "there is only one page of tools");
    json::object result{{"tools", about_.tools}};
    if (version == stateless_version) {
        result["ttlMs"] = cache_ms;
        result["cacheScope"] = "private";
    }
    return complete(request, version, std::move(result));
}

void McpProtocol::call_tool(const Request& request, const std::string& version, McpReaction& reaction) const {
    const auto refuse = [&](std::string_view why) {
        reaction.answers.push_back(error_answer(request.id, invalid_params, why));
    };
    const json::value* name = member(request.params, "name");
    if (name == nullptr || !name->is_string()) return refuse(R"("name" must be the name of a tool)");
    const bool known = std::ranges::any_of(
        about_.tools, [&](const json::value& tool) { return tool.get_object().at("name") == *name; });
    if (!known) return refuse(fmt::format("there is no tool '{}'", std::string_view(name->get_string())));
    const json::value* arguments = member(request.params, "arguments");
    if (arguments != nullptr && !arguments->is_object()) return refuse(R"("arguments" must be an object)");
    reaction.calls.push_back({request.id, std::string(name->get_string()),
                              arguments == nullptr ? json::object{} : arguments->get_object(), version});
}

json::value McpProtocol::answer(const McpCall& call, const McpOutcome& outcome) const {
    const json::value structured = outcome.content;
    json::array content{{{"type", "text"}, {"text", outcome.text}},
                        {{"type", "text"}, {"text", json::serialize(structured)}}};
    json::object result{{"content", std::move(content)}, {"isError", outcome.failed}};
    if (call.version >= first_with_structured_content) result["structuredContent"] = structured;
    return complete({call.id, "tools/call", {}}, call.version, std::move(result));
}

json::value McpProtocol::complete(const Request& request, const std::string& version, json::object result) const {
    if (version == stateless_version) {
        result["resultType"] = "complete";
        result["_meta"] = {{meta_server, server_info()}};
    }
    return result_answer(request.id, std::move(result));
}

json::object McpProtocol::server_info() const {
    return {{"name", "holdfast"}, {"title", "Holdfast leases"}, {"version", about_.version}};
}

}  // namespace holdfast::cli::mcp
