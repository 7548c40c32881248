#include "cli/mcp/mcp_protocol.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <ranges>

namespace holdfast::cli::mcp {
namespace {

/// Versions whose sessions begin with `initialize`, oldest first.
constexpr std::array<std::string_view, 4> handshake_versions{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
/// In this version every request states its version.
constexpr std::string_view stateless_version = "2026-07-28";
constexpr std::string_view first_with_structured_content = "2025-06-18";
constexpr std::string_view first_without_batches = "2025-06-18";

constexpr std::string_view meta_version = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view meta_capabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view meta_server = "io.modelcontextprotocol/serverInfo";

constexpr JsonLimits message_limits{.depth = 32, .values = 100'000};
constexpr std::size_t max_batch = 64;
/// The tools never change while the program runs.
constexpr std::int64_t cache_ms = 3'600'000;

using Kind = JsonValue::Kind;

enum JsonRpcCode : int {
    parse_error = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    unsupported_version = -32022
};

JsonValue error_answer(const JsonValue& id, int code, std::string_view message, JsonValue data = nullptr) {
    auto error = JsonValue::object({{"code", code}, {"message", message}});
    if (!data.is(Kind::null)) error.set("data", std::move(data));
    return JsonValue::object({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

JsonValue result_answer(const JsonValue& id, JsonValue result) {
    return JsonValue::object({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

bool is_text(const JsonValue& value) {
    return value.is(Kind::string);
}

bool is_id(const JsonValue& id) {
    const bool whole = id.is(Kind::number) && id.text.find_first_not_of("-0123456789") == std::string::npos;
    return is_text(id) || whole;
}

JsonValue capabilities() {
    return JsonValue::object({{"tools", JsonValue::object({{"listChanged", false}})}});
}

bool is_handshake_version(std::string_view version) {
    return std::ranges::find(handshake_versions, version) != handshake_versions.end();
}

JsonValue::List supported_versions() {
    JsonValue::List versions{stateless_version};
    for (const std::string_view version : handshake_versions | std::views::reverse)
        versions.emplace_back(version);
    return versions;
}

}  // namespace

struct McpProtocol::Request {
    const JsonValue& id;
    const std::string& method;
    const JsonValue& params;

    /// A field of `_meta`, or null.
    const JsonValue& meta(std::string_view name) const { return params["_meta"][name]; }
};

McpReaction McpProtocol::take(std::string_view line) {
    McpReaction reaction;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return reaction;
    const auto message = read_json(line, message_limits);
    if (!message) {
        reaction.answers.push_back(error_answer(nullptr, parse_error, "not JSON: " + message.error().message));
        return reaction;
    }
    if (!message->is(Kind::array)) {
        take_message(*message, reaction);
        return reaction;
    }
    const JsonValue::List& batch = message->items;
    const bool has_batches = !negotiated_.empty() && negotiated_ < first_without_batches;
    if (!has_batches || batch.empty() || batch.size() > max_batch) {
        const char* why =
            !has_batches ? "this version of the protocol has no batches" : "a batch must have 1 to 64 messages";
        reaction.answers.push_back(error_answer(nullptr, invalid_request, why));
        return reaction;
    }
    reaction.batch = true;
    for (const JsonValue& one : batch)
        take_message(one, reaction);
    return reaction;
}

JsonValue McpProtocol::too_long() {
    return error_answer(nullptr, invalid_request, "a message must not be longer than 1 MiB");
}

void McpProtocol::take_message(const JsonValue& message, McpReaction& reaction) {
    const auto refuse = [&](const JsonValue& id, int code, std::string_view why) {
        reaction.answers.push_back(error_answer(id, code, why));
    };
    if (!message.is(Kind::object)) return refuse(nullptr, invalid_request, "a message must be a JSON object");
    const JsonValue* id = message.find("id");
    const JsonValue known_id = id != nullptr && is_id(*id) ? *id : JsonValue();
    const JsonValue& version = message["jsonrpc"];
    if (!is_text(version) || version.text != "2.0")
        return refuse(known_id, invalid_request, R"("jsonrpc" must be "2.0")");
    const JsonValue* method = message.find("method");
    const bool is_response =
        method == nullptr && (message.find("result") != nullptr || message.find("error") != nullptr);
    if (is_response) return;  // this side sends no requests
    if (method == nullptr || !is_text(*method)) return refuse(known_id, invalid_request, R"("method" must be text)");
    if (id != nullptr && !is_id(*id)) return refuse(nullptr, invalid_request, R"("id" must be text or a whole number)");
    static const JsonValue no_params = JsonValue::object();
    const JsonValue* given = message.find("params");
    const JsonValue& params = given == nullptr ? no_params : *given;
    if (id == nullptr) return take_notification(method->text, params, reaction);  // which is never answered
    if (!params.is(Kind::object)) return refuse(*id, invalid_params, R"("params" must be an object)");
    take_request({*id, method->text, params}, reaction);
}

void McpProtocol::take_notification(std::string_view method, const JsonValue& params, McpReaction& reaction) {
    const JsonValue& id = params["requestId"];
    if (method == "notifications/cancelled" && is_id(id)) reaction.cancelled.push_back(id);
}

void McpProtocol::take_request(const Request& request, McpReaction& reaction) {
    const bool is_stateless = !request.meta(meta_version).is(Kind::null);
    if (request.method == "initialize" && !is_stateless) {
        reaction.answers.push_back(initialize(request));
        return;
    }
    if (request.method == "ping" && !is_stateless) {
        reaction.answers.push_back(result_answer(request.id, JsonValue::object()));
        return;
    }
    const std::string version = version_of(request, reaction);
    if (version.empty()) return;
    if (request.method == "tools/call") return call_tool(request, version, reaction);
    if (request.method == "tools/list")
        reaction.answers.push_back(list_tools(request, version));
    else if (request.method == "server/discover" && version == stateless_version)
        reaction.answers.push_back(complete(request.id, version, discover()));
    else
        reaction.answers.push_back(
            error_answer(request.id, method_not_found, fmt::format("there is no method '{}'", request.method)));
}

std::string McpProtocol::version_of(const Request& request, McpReaction& reaction) const {
    const auto refuse = [&](int code, std::string_view why, JsonValue data = nullptr) {
        reaction.answers.push_back(error_answer(request.id, code, why, std::move(data)));
        return std::string{};
    };
    const JsonValue& given = request.meta(meta_version);
    if (given.is(Kind::null)) {
        if (!negotiated_.empty()) return negotiated_;
        return refuse(invalid_params, "send 'initialize' first, or the protocol version in _meta of every request");
    }
    if (!is_text(given)) return refuse(invalid_params, "the protocol version in _meta must be text");
    if (given.text == negotiated_) return negotiated_;
    if (given.text != stateless_version)
        return refuse(unsupported_version, "Unsupported protocol version",
                      JsonValue::object({{"supported", supported_versions()}, {"requested", given}}));
    if (!request.meta(meta_capabilities).is(Kind::object))
        return refuse(invalid_params, fmt::format("_meta has no {}", meta_capabilities));
    return std::string(stateless_version);
}

JsonValue McpProtocol::initialize(const Request& request) {
    const JsonValue& wanted = request.params["protocolVersion"];
    if (!is_text(wanted)) return error_answer(request.id, invalid_params, R"("protocolVersion" must be text)");
    if (!negotiated_.empty()) return error_answer(request.id, invalid_request, "this session is already initialized");
    negotiated_ = is_handshake_version(wanted.text) ? wanted.text : handshake_versions.back();
    return result_answer(request.id, JsonValue::object({{"protocolVersion", negotiated_},
                                                        {"capabilities", capabilities()},
                                                        {"serverInfo", server_info()},
                                                        {"instructions", about_.instructions}}));
}

JsonValue McpProtocol::discover() const {
    return JsonValue::object({{"supportedVersions", supported_versions()},
                              {"capabilities", capabilities()},
                              {"instructions", about_.instructions},
                              {"ttlMs", cache_ms},
                              {"cacheScope", "private"}});
}

JsonValue McpProtocol::list_tools(const Request& request, const std::string& version) const {
    if (request.params.find("cursor") != nullptr)
        return error_answer(request.id, invalid_params, "there is only one page of tools");
    auto result = JsonValue::object({{"tools", about_.tools}});
    if (version == stateless_version) result.set("ttlMs", cache_ms).set("cacheScope", "private");
    return complete(request.id, version, std::move(result));
}

void McpProtocol::call_tool(const Request& request, const std::string& version, McpReaction& reaction) const {
    const auto refuse = [&](std::string_view why) {
        reaction.answers.push_back(error_answer(request.id, invalid_params, why));
    };
    const JsonValue& name = request.params["name"];
    if (!is_text(name)) return refuse(R"("name" must be the name of a tool)");
    const bool known =
        std::ranges::any_of(about_.tools, [&](const JsonValue& tool) { return tool["name"].text == name.text; });
    if (!known) return refuse(fmt::format("there is no tool '{}'", name.text));
    const JsonValue* arguments = request.params.find("arguments");
    if (arguments != nullptr && !arguments->is(Kind::object)) return refuse(R"("arguments" must be an object)");
    reaction.calls.push_back({request.id, name.text, arguments == nullptr ? JsonValue::object() : *arguments, version});
}

JsonValue McpProtocol::answer(const McpCall& call, const McpOutcome& outcome) const {
    const auto text = [](std::string_view what) { return JsonValue::object({{"type", "text"}, {"text", what}}); };
    auto result = JsonValue::object({{"content", JsonValue::List{text(outcome.text), text(to_text(outcome.content))}},
                                     {"isError", outcome.failed}});
    if (call.version >= first_with_structured_content) result.set("structuredContent", outcome.content);
    return complete(call.id, call.version, std::move(result));
}

JsonValue McpProtocol::complete(const JsonValue& id, const std::string& version, JsonValue result) const {
    if (version == stateless_version)
        result.set("resultType", "complete")
            .set("_meta", JsonValue::object({{std::string(meta_server), server_info()}}));
    return result_answer(id, std::move(result));
}

JsonValue McpProtocol::server_info() const {
    return JsonValue::object({{"name", "holdfast"}, {"title", "Holdfast leases"}, {"version", about_.version}});
}

}  // namespace holdfast::cli::mcp
