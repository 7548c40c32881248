#include "doors/http/decode_keys.h"

#include "doors/http/decode_key_parts.h"
#include "keys/controller/key_limits.h"
#include "lease/manifest.h"

namespace holdfast::http {
namespace {

namespace limits = core::limits;
using Kind = JsonValue::Kind;

constexpr std::uint64_t seconds_max = 1'000'000'000;
constexpr std::uint64_t start_timeout_s_max = 86'400;
constexpr std::size_t path_bytes = 4096;

/// What is passed to a program may hold anything but a zero.
std::string program_text(Fields& fields, const JsonValue& value, const std::string& name) {
    if (value.kind != Kind::string) fields.refuse(name + " must be text");
    if (value.text.find('\0') != std::string::npos) fields.refuse(name + " must not hold a zero");
    return value.text;
}

std::vector<std::string> arguments_field(Fields& fields) {
    std::vector<std::string> arguments;
    if (const JsonValue* list = fields.array("args", limits::spawn_arguments))
        for (const JsonValue& item : list->items)
            arguments.push_back(program_text(fields, item, "each of spawn.args"));
    return arguments;
}

std::map<std::string, std::string> environment_field(Fields& fields) {
    std::map<std::string, std::string> variables;
    const JsonValue* object = fields.object("env");
    if (object == nullptr) return variables;
    if (object->members.size() > limits::spawn_variables)
        fields.refuse("spawn.env has more than " + std::to_string(limits::spawn_variables) + " variables");
    for (const JsonValue::Member& member : object->members) {
        if (member.key.empty() || member.key.find_first_of(std::string_view("=\0", 2)) != std::string::npos)
            fields.refuse("a name in spawn.env is empty, or has a = or a zero in it");
        variables[member.key] = program_text(fields, member.value, "each of spawn.env");
    }
    return variables;
}

Result<core::Readiness> readiness_of(const JsonValue* object) {
    core::Readiness ready;
    if (object == nullptr) return ready;
    Fields fields(*object, "spawn.ready.");
    if (object->members.size() != 1) fields.refuse("spawn.ready takes one of tcp, http and started");
    if (const auto path = fields.text("http")) {
        ready = {core::Readiness::How::http, *path};
        fields.check(core::check_text({"http", *path}, path_bytes));
        if (!path->starts_with('/')) fields.refuse("spawn.ready.http is a path, and begins with /");
    }
    const auto tcp = fields.boolean("tcp");
    const auto started = fields.boolean("started");
    if (started) ready.how = core::Readiness::How::started;
    if (tcp == false || started == false) fields.refuse("spawn.ready.tcp and spawn.ready.started must be true or omitted");
    if (auto error = fields.error()) return *error;
    return ready;
}

/// None for null, too.
std::optional<std::uint64_t> number_or_none(Fields& fields, std::string_view name, std::uint64_t most) {
    const auto number = fields.whole_or_null(name, 1, most);
    return number && *number > 0 ? number : std::nullopt;
}

Result<core::SpawnRequest> spawn_of(const JsonValue& object) {
    Fields fields(object, "spawn.");
    core::SpawnRequest request;
    core::Spawn& spawn = request.spawn;
    if (const JsonValue* command = fields.any("command"))
        spawn.command = program_text(fields, *command, "spawn.command");
    if (spawn.command.empty() || spawn.command.size() > path_bytes)
        fields.refuse("spawn.command must be text of 1 to " + std::to_string(path_bytes) + " bytes");
    spawn.args = arguments_field(fields);
    spawn.env = environment_field(fields);
    if (const JsonValue* cwd = fields.any("cwd"); cwd != nullptr && cwd->kind != Kind::null)
        spawn.cwd = program_text(fields, *cwd, "spawn.cwd");
    if (const auto port = number_or_none(fields, "port", 65'535)) spawn.port = static_cast<std::uint16_t>(*port);
    const JsonValue* ready = fields.object("ready");
    spawn.max_idle_s = number_or_none(fields, "max_idle_s", seconds_max);
    spawn.lifetime_s = number_or_none(fields, "lifetime_s", seconds_max);
    spawn.start_timeout_s = number_or_none(fields, "start_timeout_s", start_timeout_s_max).value_or(60);
    if (fields.has("pool")) request.pool = plain_name_field(fields, "pool", limits::pool_bytes);
    if (fields.has("id")) request.id = plain_name_field(fields, "id", limits::backend_id_bytes);
    if (spawn.bytes() > limits::spawn_bytes)
        fields.refuse("spawn is longer than " + std::to_string(limits::spawn_bytes) + " bytes");
    if (auto error = fields.error()) return *error;
    auto readiness = readiness_of(ready);
    if (!readiness) return readiness.error();
    spawn.ready = std::move(*readiness);
    return request;
}

}  // namespace

Result<core::ConnectRequest> decode_connect(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    core::ConnectRequest connect;
    connect.caller = caller_of(request);
    connect.user = text_field(fields, "user", limits::user_bytes);
    const std::uint64_t most_s = std::chrono::duration_cast<std::chrono::seconds>(limits::connect_wait).count();
    connect.wait = std::chrono::seconds(fields.whole("wait_s", 0, most_s).value_or(0));
    connect.ttl = duration_field(fields, "ttl_ms");
    const JsonValue* key = fields.object("key");
    const JsonValue* spawn = fields.object("spawn");
    if (auto error = fields.error()) return *error;
    auto named = key_from(key, NameNeed::optional);
    if (!named) return named.error();
    connect.key = std::move(*named);
    if (spawn == nullptr) return connect;
    auto what = spawn_of(*spawn);
    if (!what) return what.error();
    connect.spawn = std::move(*what);
    return connect;
}

Result<DecodedBackends> decode_backends(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedBackends decoded;
    decoded.filter.name = query->text("key", limits::key_name_bytes).value_or("");
    decoded.filter.name_space = query->text("namespace", limits::namespace_bytes).value_or("");
    decoded.filter.drone = query->text("drone", limits::holder_bytes).value_or("");
    const auto state = query->text("state", 32);
    if (state) decoded.filter.state = core::parse_backend_state(*state);
    if (state && !decoded.filter.state) query->check(invalid_argument("state is not one that a backend has"));
    decoded.page.after = query->text("after", limits::backend_id_bytes).value_or("");
    decoded.page.limit = query->whole("limit", 1, 1000).value_or(100);
    if (auto error = query->error()) return *error;
    return decoded;
}

Result<core::Severity> decode_terminate(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    const std::string how = fields.text("how").value_or("soft");
    if (how != "soft" && how != "hard") fields.refuse("how must be soft or hard");
    if (auto error = fields.error()) return *error;
    return how == "hard" ? core::Severity::hard : core::Severity::soft;
}

Result<DecodedKeys> decode_keys(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedKeys keys;
    keys.name_space = query->text("namespace", limits::namespace_bytes).value_or("");
    keys.limit = query->whole("limit", 1, 1000).value_or(100);
    keys.after = query->text("after", limits::cursor_bytes).value_or("");
    query->check(core::check_namespace(keys.name_space));
    if (auto error = query->error()) return *error;
    return keys;
}

Result<core::Key> decode_key_only(const Request& request, const std::string& key) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing.error();
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) return core::checked_key({{}, key, {}});
    return core::checked_key({key.substr(0, slash), key.substr(slash + 1), {}});
}

}  // namespace holdfast::http
