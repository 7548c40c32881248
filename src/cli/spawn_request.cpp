#include "cli/spawn_request.h"

#include <boost/json/parse.hpp>
#include <fstream>
#include <iostream>
#include <iterator>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::size_t spawn_file_bytes = 1024 * 1024;

Error wrong(std::string message) {
    return {"invalid_argument", std::move(message)};
}

Result<json::object> read_spawn(const std::string& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    std::istream& input = path == "-" ? std::cin : file;
    if (!input) return wrong("cannot read " + path);
    std::string text{std::istreambuf_iterator<char>{input}, {}};
    if (text.size() > spawn_file_bytes) return wrong(path + " is longer than 1 MiB");
    boost::system::error_code malformed;
    json::value value = json::parse(text, malformed);
    if (malformed || !value.is_object())
        return wrong(path + R"( is not a JSON object like {"command": "room-server", "args": ["--verbose"]})");
    return std::move(value.as_object());
}

/// Rounded up: less than a second is not nothing.
std::int64_t whole_seconds(Duration duration) {
    return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

bool describes_something(const BackendArguments& options) {
    return !options.pool.empty() || !options.cwd.empty() || !options.ready.empty() || !options.env.empty() ||
           options.port || options.max_idle || options.lifetime || options.start_timeout;
}

json::object readiness(const std::string& ready) {
    if (ready.starts_with("http:")) return {{"http", ready.substr(5)}};
    return {{ready, true}};
}

void add_environment(json::object& spawn, const std::vector<std::string>& variables) {
    if (variables.empty()) return;
    json::value& env = spawn["env"];
    if (!env.is_object()) env = json::object{};
    for (const std::string& variable : variables) {
        const std::size_t equals = variable.find('=');
        env.as_object()[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
}

void add_typed(json::object& spawn, const BackendArguments& options) {
    if (!options.pool.empty()) spawn["pool"] = options.pool;
    if (!options.cwd.empty()) spawn["cwd"] = options.cwd;
    if (!options.ready.empty()) spawn["ready"] = readiness(options.ready);
    if (options.port) spawn["port"] = *options.port;
    if (options.max_idle) spawn["max_idle_s"] = whole_seconds(*options.max_idle);
    if (options.lifetime) spawn["lifetime_s"] = whole_seconds(*options.lifetime);
    if (options.start_timeout) spawn["start_timeout_s"] = whole_seconds(*options.start_timeout);
    add_environment(spawn, options.env);
}

Result<json::object> spawn_of(const BackendArguments& options) {
    json::object spawn;
    if (!options.spawn_file.empty()) {
        auto read = read_spawn(options.spawn_file);
        if (!read) return read.error();
        spawn = std::move(*read);
    } else if (!options.spawn.empty()) {
        spawn = {{"command", "sh"}, {"args", json::array{"-c", options.spawn}}};
    } else if (describes_something(options)) {
        return wrong("say what to start with --spawn, or leave out how");
    } else {
        return spawn;
    }
    add_typed(spawn, options);
    return spawn;
}

}  // namespace

Result<json::object> connect_body(const BackendArguments& options) {
    auto spawn = spawn_of(options);
    if (!spawn) return spawn.error();
    json::object key;
    if (!options.key.empty()) key["name"] = options.key;
    if (!options.name_space.empty()) key["namespace"] = options.name_space;
    if (!options.tag.empty()) key["tag"] = options.tag;
    json::object body{{"key", std::move(key)}};
    if (!spawn->empty()) body["spawn"] = std::move(*spawn);
    if (!options.user.empty()) body["user"] = options.user;
    if (options.ttl) body["ttl_ms"] = std::chrono::ceil<std::chrono::milliseconds>(*options.ttl).count();
    return body;
}

}  // namespace holdfast
