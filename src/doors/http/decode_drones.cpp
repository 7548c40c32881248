#include "doors/http/decode_key_parts.h"
#include "doors/http/decode_keys.h"
#include "keys/controller/key_limits.h"
#include "lease/manifest.h"

namespace holdfast::http {
namespace {

namespace limits = core::limits;
using Kind = JsonValue::Kind;

constexpr std::int64_t exit_code_max = 1'000'000;
constexpr std::size_t message_bytes = 1024;
constexpr std::size_t done_max = 2 * limits::orders_per_drone;

bool is_null(Fields& fields, std::string_view name) {
    const JsonValue* value = fields.any(name);
    return value == nullptr || value->kind == Kind::null;
}

/// Empty for null.
std::string text_or_null(Fields& fields, std::string_view name, std::size_t most_bytes) {
    return is_null(fields, name) ? std::string() : text_field(fields, name, most_bytes);
}

std::uint64_t clock_field(Fields& fields) {
    const auto clock = fields.whole("clock_ms", 0, client_time_ms_max);
    if (!clock) fields.refuse("clock_ms is missing");
    return clock.value_or(0);
}

std::string life_field(Fields& fields) {
    return plain_name_field(fields, "life", limits::life_bytes);
}

std::vector<std::string> lives_field(Fields& fields) {
    std::vector<std::string> lives;
    const JsonValue* list = fields.array("earlier_lives", limits::earlier_lives);
    if (list == nullptr) return lives;
    for (const JsonValue& item : list->items) {
        lives.push_back(item.kind == Kind::string ? item.text : "");
        fields.check(check_plain_name("each of earlier_lives", lives.back(), limits::life_bytes));
    }
    return lives;
}

core::BackendProgress progress_of(Fields& fields) {
    core::BackendProgress progress;
    const auto state = core::parse_backend_state(fields.text("state").value_or(""));
    if (!state) fields.refuse("state is not one that a backend has");
    progress.state = state.value_or(core::BackendState::scheduled);
    if (!is_null(fields, "reason")) {
        progress.reason = core::parse_end_reason(fields.text("reason").value_or(""));
        if (!progress.reason) fields.refuse("reason is not one that a backend ends for");
    }
    if (!is_null(fields, "exit_code")) progress.exit_code = fields.signed_whole("exit_code", exit_code_max);
    progress.address = text_or_null(fields, "address", limits::address_bytes);
    if (!is_null(fields, "message")) progress.message = fields.text("message").value_or("");
    progress.state_for = duration_field(fields, "state_for_ms").value_or(Duration::zero());
    if (progress.message.size() > message_bytes) fields.refuse("message is longer than 1024 bytes");
    return progress;
}

Result<core::BackendReport> report_of(const JsonValue& item, const std::string& path) {
    if (item.kind != Kind::object) return invalid_argument(path + " must be an object");
    Fields fields(item, path + ".");
    core::BackendReport report;
    report.id = plain_name_field(fields, "id", limits::backend_id_bytes);
    report.progress = progress_of(fields);
    report.token = fields.whole("token", 1, core::token_limit - 1).value_or(0);
    if (report.token == 0) fields.refuse(path + ".token is missing");
    report.ttl = duration_field(fields, "ttl_ms").value_or(Duration::zero());
    if (!is_null(fields, "holds_for_ms")) {
        const auto ms = fields.signed_whole("holds_for_ms", static_cast<std::int64_t>(duration_ms_max));
        report.holds_for = std::chrono::milliseconds(ms.value_or(0));
    }
    auto key = key_from(fields.object("key"), NameNeed::required);
    if (auto error = fields.error()) return *error;
    if (!key) return Error{key.error().code, path + ": " + key.error().message};
    report.key = std::move(*key);
    return report;
}

Result<std::vector<core::BackendReport>> reports_of(const JsonValue* list) {
    std::vector<core::BackendReport> reports;
    if (list == nullptr) return reports;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        auto report = report_of(list->items[i], "backends[" + std::to_string(i) + "]");
        if (!report) return report.error();
        reports.push_back(std::move(*report));
    }
    return reports;
}

Result<std::optional<std::string>> reassert_of(const JsonValue* object) {
    if (object == nullptr) return std::optional<std::string>();
    Fields fields(*object, "reassert.");
    std::optional<std::string> controller = text_field(fields, "controller", limits::life_bytes);
    if (auto error = fields.error()) return *error;
    return controller;
}

}  // namespace

Result<core::Key> key_from(const JsonValue* object, NameNeed need) {
    if (object == nullptr && need == NameNeed::required) return invalid_argument("key is missing");
    if (object == nullptr) return core::Key{std::string(core::default_namespace), {}, {}};
    Fields fields(*object, "key.");
    core::Key key{fields.text("namespace").value_or(""), fields.text("name").value_or(""),
                  fields.text("tag").value_or("")};
    const bool random = need == NameNeed::optional && !fields.has("name");
    if (auto error = fields.error()) return *error;
    if (random) key.name = "random";  // so that the rest is checked
    auto checked = core::checked_key(std::move(key));
    if (checked && random) checked->name.clear();
    return checked;
}

Result<void> check_plain_name(std::string_view name, std::string_view value, std::size_t most_bytes) {
    if (core::is_plain_name(value, most_bytes)) return {};
    return invalid_argument(std::string(name) + " must be 1 to " + std::to_string(most_bytes) +
                            " letters, digits, '-', '_' and '.', and not begin with a dot");
}

std::string plain_name_field(Fields& fields, std::string_view name, std::size_t most_bytes) {
    std::string value = fields.text(name).value_or("");
    fields.check(check_plain_name(name, value, most_bytes));
    return value;
}

Result<core::Heartbeat> decode_drone_heartbeat(const Request& request, const std::string& drone) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    core::Heartbeat heartbeat;
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
    auto reports = reports_of(backends);
    if (!reports) return reports.error();
    heartbeat.backends = std::move(*reports);
    auto reassert_to = reassert_of(reassert);
    if (!reassert_to) return reassert_to.error();
    heartbeat.reassert_to = std::move(*reassert_to);
    return heartbeat;
}

Result<core::OrdersRequest> decode_orders(const Request& request, const std::string& drone) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    core::OrdersRequest orders;
    orders.drone = drone;
    orders.life = life_field(fields);
    orders.clock_ms = clock_field(fields);
    orders.controller = text_or_null(fields, "controller", limits::life_bytes);
    orders.wait = duration_field(fields, "wait_ms").value_or(Duration::zero());
    if (const JsonValue* done = fields.array("done", done_max))
        for (const JsonValue& item : done->items) {
            if (item.kind != Kind::number || !item.whole) fields.refuse("done must be a list of whole numbers");
            orders.done.push_back(item.number);
        }
    if (auto error = fields.error()) return *error;
    return orders;
}

Result<bool> decode_drain(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    const bool draining = fields.boolean("draining").value_or(true);
    if (auto error = fields.error()) return *error;
    return draining;
}

}  // namespace holdfast::http
