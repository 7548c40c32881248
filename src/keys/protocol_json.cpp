#include "keys/protocol_json.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::keys {
namespace {

using Kind = JsonValue::Kind;

constexpr std::uint64_t max_number = (std::uint64_t{1} << 53) - 1;
constexpr std::uint64_t max_clock_ms = 9'000'000'000'000'000;
/// A later deadline, or a longer TTL, is not refused but cut: arithmetic on a drone's clock must not overflow.
constexpr std::uint64_t max_deadline_ms = std::uint64_t{1} << 42;
constexpr std::uint64_t max_order_ttl_ms = 86'400'000;
constexpr std::uint64_t max_seconds = 1'000'000'000;
constexpr std::uint64_t max_start_timeout_s = 86'400;
constexpr std::size_t path_bytes = 4096;
constexpr std::int64_t max_exit_code = 1'000'000;
constexpr std::size_t message_bytes = 1024;
constexpr std::size_t message_bytes_sent = 300;
constexpr std::size_t max_done = 2 * limits::orders_per_drone;

Error invalid(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

template <class Number>
void put_number_or_null(JsonWriter& json, std::string_view name, const std::optional<Number>& number) {
    json.key(name);
    number ? json.number(std::int64_t{*number}) : json.null();
}

template <class Time>
std::optional<std::int64_t> count_of(const std::optional<Time>& time) {
    return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
}

void put_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
    json.key(name).open_array();
    for (const std::string& text : texts)
        json.text(text);
    json.close_array();
}

/// Text that a controller accepts: UTF-8 without control characters, truncated to the limit.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](char c) {
            return has_control_characters({&c, 1});
        },
        ' ');
    if (!is_utf8(text))
        std::replace_if(
            text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    std::size_t end = std::min(text.size(), message_bytes_sent);
    while (end < text.size() && (text[end] & 0xC0) == 0x80)
        --end;  // do not split a character
    return text.substr(0, end);
}

}  // namespace

// ---- names and keys ----

Result<void> check_plain_name(std::string_view name, std::string_view value, std::size_t max_bytes) {
    if (is_plain_name(value, max_bytes)) return {};
    return invalid(
        fmt::format("{} must be 1 to {} letters, digits, '-', '_' and '.', and not begin with a dot", name, max_bytes));
}

std::string plain_name_field(JsonFields& fields, std::string_view name, std::size_t max_bytes) {
    std::string value = fields.text(name).value_or("");
    fields.check(check_plain_name(name, value, max_bytes));
    return value;
}

void put_key(JsonWriter& json, const Key& key) {
    json.key("key").open_object().field("namespace", key.name_space).field("name", key.name);
    json.field("tag", key.tag).close_object();
}

Result<Key> key_from(const JsonValue* object, NameNeed need) {
    if (object == nullptr && need == NameNeed::required) return invalid("key is missing");
    if (object == nullptr) return Key{"default", {}, {}};
    JsonFields fields(*object, "key.");
    Key key{fields.text("namespace").value_or(""), fields.text("name").value_or(""), fields.text("tag").value_or("")};
    const bool random = need == NameNeed::optional && !fields.has("name");
    if (auto error = fields.error()) return *error;
    if (random) key.name = "random";  // so that the rest is checked
    auto checked = checked_key(std::move(key));
    if (checked && random) checked->name.clear();
    return checked;
}

// ---- what a drone is to start ----

namespace {

/// Text passed to a program may contain any byte except zero.
std::string program_text(JsonFields& fields, const JsonValue& value, const std::string& name) {
    if (!value.is(Kind::string)) fields.refuse(name + " must be text");
    if (value.text.find('\0') != std::string::npos) fields.refuse(name + " must not contain a zero byte");
    return value.text;
}

std::vector<std::string> arguments_field(JsonFields& fields) {
    std::vector<std::string> arguments;
    if (const JsonValue* list = fields.array("args", limits::spawn_arguments))
        for (const JsonValue& item : list->items)
            arguments.push_back(program_text(fields, item, "each of spawn.args"));
    return arguments;
}

std::map<std::string, std::string> environment_field(JsonFields& fields) {
    std::map<std::string, std::string> variables;
    const JsonValue* object = fields.object("env");
    if (object == nullptr) return variables;
    if (object->members.size() > limits::spawn_variables)
        fields.refuse(fmt::format("spawn.env has more than {} variables", limits::spawn_variables));
    for (const JsonValue::Member& member : object->members) {
        if (member.key.empty() || member.key.find_first_of(std::string_view("=\0", 2)) != std::string::npos)
            fields.refuse("a name in spawn.env is empty, or contains a = or a zero byte");
        variables[member.key] = program_text(fields, member.value, "each of spawn.env");
    }
    return variables;
}

Result<Readiness> readiness_from(const JsonValue& object) {
    Readiness ready;
    JsonFields fields(object, "spawn.ready.");
    if (object.members.size() != 1) fields.refuse("spawn.ready must have exactly one of tcp, http and started");
    if (const auto path = fields.text("http")) {
        ready = {Readiness::How::http, *path};
        fields.check(check_text({"http", *path}, path_bytes));
        if (!path->starts_with('/')) fields.refuse("spawn.ready.http must be a path that begins with /");
    }
    const auto tcp = fields.boolean("tcp");
    const auto started = fields.boolean("started");
    if (started) ready.how = Readiness::How::started;
    if (tcp == false || started == false)
        fields.refuse("spawn.ready.tcp and spawn.ready.started must be true or omitted");
    if (auto error = fields.error()) return *error;
    return ready;
}

/// Empty for null, too.
std::optional<std::uint64_t> number_or_none(JsonFields& fields, std::string_view name, std::uint64_t most) {
    const auto number = fields.whole_or_null(name, 1, most);
    return number && *number > 0 ? number : std::nullopt;
}

std::optional<std::chrono::seconds> seconds_or_none(JsonFields& fields, std::string_view name, std::uint64_t most) {
    const auto number = number_or_none(fields, name, most);
    return number ? std::optional(std::chrono::seconds(*number)) : std::nullopt;
}

void put_ready(JsonWriter& json, const Readiness& ready) {
    json.key("ready").open_object();
    switch (ready.how) {
        case Readiness::How::tcp:
            json.flag("tcp", true);
            break;
        case Readiness::How::http:
            json.field("http", ready.path);
            break;
        case Readiness::How::started:
            json.flag("started", true);
            break;
    }
    json.close_object();
}

void put_spawn(JsonWriter& json, const Spawn& spawn) {
    json.key("spawn").open_object().field("command", spawn.command);
    put_texts(json, "args", spawn.args);
    json.key("env").open_object();
    for (const auto& [name, value] : spawn.env)
        json.field(name, value);
    json.close_object();
    json.field_or_null("cwd", spawn.cwd.value_or(""));
    put_number_or_null(json, "port", spawn.port);
    put_ready(json, spawn.ready);
    put_number_or_null(json, "max_idle_s", count_of(spawn.max_idle));
    put_number_or_null(json, "lifetime_s", count_of(spawn.lifetime));
    json.field("start_timeout_s", std::int64_t{spawn.start_timeout.count()}).close_object();
}

}  // namespace

Spawn spawn_from(JsonFields& fields) {
    Spawn spawn;
    if (const JsonValue* command = fields.any("command"))
        spawn.command = program_text(fields, *command, "spawn.command");
    if (spawn.command.empty() || spawn.command.size() > path_bytes)
        fields.refuse(fmt::format("spawn.command must be text of 1 to {} bytes", path_bytes));
    spawn.args = arguments_field(fields);
    spawn.env = environment_field(fields);
    if (!fields.is_null("cwd")) spawn.cwd = program_text(fields, *fields.any("cwd"), "spawn.cwd");
    if (const auto port = number_or_none(fields, "port", 65'535)) spawn.port = static_cast<std::uint16_t>(*port);
    spawn.max_idle = seconds_or_none(fields, "max_idle_s", max_seconds);
    spawn.lifetime = seconds_or_none(fields, "lifetime_s", max_seconds);
    const auto start_timeout = seconds_or_none(fields, "start_timeout_s", max_start_timeout_s);
    spawn.start_timeout = start_timeout.value_or(spawn.start_timeout);
    if (const JsonValue* object = fields.object("ready")) {
        auto ready = readiness_from(*object);
        if (!ready) fields.refuse(ready.error());
        if (ready) spawn.ready = std::move(*ready);
    }
    if (spawn.bytes() > limits::spawn_bytes)
        fields.refuse(fmt::format("spawn is longer than {} bytes", limits::spawn_bytes));
    return spawn;
}

// ---- heartbeats ----

namespace {

void put_report(JsonWriter& json, const BackendReport& report) {
    const BackendProgress& progress = report.progress;
    json.open_object().field("id", report.id);
    put_key(json, report.key);
    json.field("token", report.token).field("state", to_string(progress.state));
    json.field("state_for_ms", to_ms(progress.state_for));
    json.field_or_null("reason", progress.reason ? to_string(*progress.reason) : std::string_view());
    put_number_or_null(json, "exit_code", progress.exit_code);
    json.field_or_null("address", progress.address).field("ttl_ms", to_ms(report.ttl));
    json.key("holds_for_ms");
    report.holds_for ? json.number(to_ms(*report.holds_for)) : json.null();
    if (!progress.message.empty()) json.field("message", plain(progress.message));
    json.close_object();
}

std::string text_or_null(JsonFields& fields, std::string_view name, std::size_t max_bytes) {
    return fields.is_null(name) ? std::string() : fields.plain_text(name, max_bytes);
}

std::uint64_t clock_field(JsonFields& fields) {
    return fields.need_whole("clock_ms", 0, max_clock_ms);
}

std::string life_field(JsonFields& fields) {
    return plain_name_field(fields, "life", limits::life_bytes);
}

std::vector<std::string> lives_field(JsonFields& fields) {
    std::vector<std::string> lives;
    const JsonValue* list = fields.array("earlier_lives", limits::earlier_lives);
    if (list == nullptr) return lives;
    for (const JsonValue& item : list->items) {
        lives.push_back(item.is(Kind::string) ? item.text : "");
        fields.check(check_plain_name("each of earlier_lives", lives.back(), limits::life_bytes));
    }
    return lives;
}

BackendProgress progress_from(JsonFields& fields) {
    BackendProgress progress;
    const auto state = parse_backend_state(fields.text("state").value_or(""));
    if (!state) fields.refuse("state is not one that a backend has");
    progress.state = state.value_or(BackendState::scheduled);
    if (!fields.is_null("reason")) {
        progress.reason = parse_end_reason(fields.text("reason").value_or(""));
        if (!progress.reason) fields.refuse("reason is not a known reason for the end of a backend");
    }
    if (!fields.is_null("exit_code")) progress.exit_code = fields.signed_whole("exit_code", max_exit_code);
    progress.address = text_or_null(fields, "address", limits::address_bytes);
    if (!fields.is_null("message")) progress.message = fields.text("message").value_or("");
    progress.state_for = fields.milliseconds("state_for_ms").value_or(0ms);
    if (progress.message.size() > message_bytes) fields.refuse("message is longer than 1024 bytes");
    return progress;
}

Result<BackendReport> report_from(const JsonValue& item, const std::string& path) {
    if (!item.is(Kind::object)) return invalid(path + " must be an object");
    JsonFields fields(item, path + ".");
    BackendReport report;
    report.id = plain_name_field(fields, "id", limits::backend_id_bytes);
    report.progress = progress_from(fields);
    report.token = fields.need_whole("token", 1, lease::token_limit - 1);
    report.ttl = fields.milliseconds("ttl_ms").value_or(0ms);
    if (!fields.is_null("holds_for_ms")) {
        const auto ms = fields.signed_whole("holds_for_ms", static_cast<std::int64_t>(max_duration_ms));
        report.holds_for = std::chrono::milliseconds(ms.value_or(0));
    }
    auto key = key_from(fields.object("key"), NameNeed::required);
    if (auto error = fields.error()) return *error;
    if (!key) return Error{key.error().code, fmt::format("{}: {}", path, key.error().message)};
    report.key = std::move(*key);
    return report;
}

Result<std::vector<BackendReport>> reports_from(const JsonValue* list) {
    std::vector<BackendReport> reports;
    if (list == nullptr) return reports;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        auto report = report_from(list->items[i], fmt::format("backends[{}]", i));
        if (!report) return report.error();
        reports.push_back(std::move(*report));
    }
    return reports;
}

Result<std::optional<std::string>> reassert_from(const JsonValue* object) {
    if (object == nullptr) return std::optional<std::string>();
    JsonFields fields(*object, "reassert.");
    std::optional<std::string> controller = fields.plain_text("controller", limits::life_bytes);
    if (auto error = fields.error()) return *error;
    return controller;
}

}  // namespace

std::string to_json(const Heartbeat& heartbeat) {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("life", heartbeat.life);
    if (!heartbeat.earlier_lives.empty()) put_texts(json, "earlier_lives", heartbeat.earlier_lives);
    json.field("pool", heartbeat.pool).field("capacity", std::uint64_t{heartbeat.capacity});
    json.flag("draining", heartbeat.draining).field("clock_ms", heartbeat.clock_ms);
    json.field("address", heartbeat.address).flag("all", heartbeat.all);
    if (heartbeat.reassert_to)
        json.key("reassert").open_object().field("controller", *heartbeat.reassert_to).close_object();
    json.key("backends").open_array();
    for (const BackendReport& report : heartbeat.backends)
        put_report(json, report);
    json.close_array().close_object();
    return text;
}

Result<Heartbeat> heartbeat_from(const JsonValue& body, const std::string& drone) {
    JsonFields fields(body);
    Heartbeat heartbeat;
    heartbeat.drone = drone;
    fields.check(check_plain_name("the drone's id", drone, limits::backend_id_bytes));
    heartbeat.life = life_field(fields);
    heartbeat.earlier_lives = lives_field(fields);
    heartbeat.pool = fields.has("pool") ? plain_name_field(fields, "pool", limits::pool_bytes) : "default";
    heartbeat.capacity = fields.whole("capacity", 0, limits::drone_capacity).value_or(0);
    heartbeat.draining = fields.boolean("draining").value_or(false);
    heartbeat.clock_ms = clock_field(fields);
    heartbeat.address = text_or_null(fields, "address", limits::address_bytes);
    heartbeat.all = fields.boolean("all").value_or(false);
    const JsonValue* reassert = fields.object("reassert");
    const JsonValue* backends = fields.array("backends", limits::backends_per_heartbeat);
    if (auto error = fields.error()) return *error;
    auto reports = reports_from(backends);
    if (!reports) return reports.error();
    heartbeat.backends = std::move(*reports);
    auto reassert_to = reassert_from(reassert);
    if (!reassert_to) return reassert_to.error();
    heartbeat.reassert_to = std::move(*reassert_to);
    return heartbeat;
}

std::string to_json(const HeartbeatAnswer& answer) {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("controller", answer.controller).flag("send_all", answer.send_all);
    json.flag("drain", answer.drain).field("heartbeat_in_ms", to_ms(answer.heartbeat_in));
    put_texts(json, "reasserted", answer.reasserted);
    json.close_object();
    return text;
}

Result<HeartbeatAnswer> heartbeat_answer_from(const JsonValue& body) {
    JsonFields fields(body);
    HeartbeatAnswer answer{.controller = fields.need_text("controller")};
    if (answer.controller.empty()) fields.refuse("controller is empty");
    answer.send_all = fields.boolean("send_all").value_or(false);
    answer.drain = fields.boolean("drain").value_or(false);
    if (const auto ms = fields.milliseconds("heartbeat_in_ms")) answer.heartbeat_in = *ms;
    if (const JsonValue* list = fields.array("reasserted", limits::backends_per_heartbeat))
        for (const JsonValue& id : list->items)
            answer.reasserted.push_back(id.text);
    if (fields.mistake()) return *fields.mistake();
    return answer;
}

// ---- orders ----

namespace {

void put_order(JsonWriter& json, std::uint64_t number, const SpawnOrder& order) {
    json.open_object().field("number", number).field("kind", "spawn").field("backend", order.backend);
    put_key(json, order.key);
    json.field("token", order.token).field("ttl_ms", to_ms(order.ttl));
    json.field("renew_at_ms", to_ms(order.deadlines.renew.time_since_epoch()));
    json.field("soft_terminate_at_ms", to_ms(order.deadlines.soft.time_since_epoch()));
    json.field("hard_terminate_at_ms", to_ms(order.deadlines.hard.time_since_epoch()));
    put_spawn(json, order.spawn);
    json.close_object();
}

void put_order(JsonWriter& json, std::uint64_t number, const TerminateOrder& order) {
    json.open_object().field("number", number).field("kind", "terminate").field("backend", order.backend);
    json.field("how", to_string(order.how)).close_object();
}

void put_order(JsonWriter&, std::uint64_t, const UnclearOrder&) {}  // only read

HolderInstant deadline_field(JsonFields& fields, std::string_view name) {
    return HolderInstant{std::chrono::milliseconds(std::min(fields.need_whole(name, 0, max_number), max_deadline_ms))};
}

SpawnOrder spawn_order_from(JsonFields& fields, std::string backend) {
    SpawnOrder order{.backend = std::move(backend)};
    order.token = fields.need_whole("token", 1, lease::token_limit - 1);
    order.ttl = std::chrono::milliseconds(std::min(fields.need_whole("ttl_ms", 0, max_number), max_order_ttl_ms));
    order.deadlines = {deadline_field(fields, "renew_at_ms"), deadline_field(fields, "soft_terminate_at_ms"),
                       deadline_field(fields, "hard_terminate_at_ms")};
    auto key = key_from(fields.object("key"), NameNeed::required);
    if (!key) fields.refuse(key.error());
    if (key) order.key = std::move(*key);
    JsonFields spawn = fields.need_object("spawn");
    order.spawn = spawn_from(spawn);
    return order;
}

Order order_from(std::uint64_t number, const JsonValue& value) {
    JsonFields fields(value);
    Order order{.number = number};
    const std::string kind = fields.need_text("kind");
    const std::string backend = plain_name_field(fields, "backend", limits::backend_id_bytes);
    if (kind == "spawn")
        order.what = spawn_order_from(fields, backend);
    else if (kind == "terminate")
        order.what = TerminateOrder{backend, fields.need_text("how") == "hard" ? Severity::hard : Severity::soft};
    else
        fields.refuse(fmt::format("unknown order '{}'", kind));
    if (const auto& mistake = fields.mistake())
        order.what = UnclearOrder{fmt::format("order {}: {}", number, mistake->message)};
    return order;
}

}  // namespace

std::string to_json(const OrdersRequest& request) {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("life", request.life).field("clock_ms", request.clock_ms);
    json.field("controller", request.controller).key("done").open_array();
    for (const std::uint64_t number : request.done)
        json.number(number);
    json.close_array().field("wait_ms", to_ms(request.wait)).close_object();
    return text;
}

Result<OrdersRequest> orders_request_from(const JsonValue& body, const std::string& drone) {
    JsonFields fields(body);
    OrdersRequest orders;
    orders.drone = drone;
    orders.life = life_field(fields);
    orders.clock_ms = clock_field(fields);
    orders.controller = text_or_null(fields, "controller", limits::life_bytes);
    orders.wait = fields.milliseconds("wait_ms").value_or(0ms);
    if (const JsonValue* done = fields.array("done", max_done))
        for (const JsonValue& item : done->items) {
            if (!item.whole) fields.refuse("done must be a list of whole numbers");
            orders.done.push_back(item.number);
        }
    if (auto error = fields.error()) return *error;
    return orders;
}

std::string to_json(const OrdersAnswer& answer) {
    std::string text;
    JsonWriter json(text);
    json.open_object().field("controller", answer.controller).key("orders").open_array();
    for (const Order& order : answer.orders)
        std::visit([&](const auto& what) { put_order(json, order.number, what); }, order.what);
    json.close_array().close_object();
    return text;
}

Result<OrdersAnswer> orders_answer_from(const JsonValue& body) {
    JsonFields fields(body);
    OrdersAnswer answer{.controller = fields.need_text("controller")};
    if (answer.controller.empty()) fields.refuse("controller is empty");
    for (JsonFields& order : fields.need_objects("orders"))
        answer.orders.push_back(order_from(order.need_whole("number", 0, max_number), order.value()));
    if (fields.mistake()) return *fields.mistake();
    return answer;
}

}  // namespace holdfast::keys
