#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace holdfast {
namespace {

namespace json = boost::json;

/// True for the fields that the first line shows.
bool is_in_headline(std::string_view field) {
    static constexpr std::array<std::string_view, 5> fields{"engine", "address", "addresses", "reachable", "why"};
    return std::find(fields.begin(), fields.end(), field) != fields.end();
}

/// A field of the answer as a person would write it: `round_trip_us` is `round trip`. Its unit is shown with the value.
std::string label_of(std::string_view field) {
    for (const std::string_view unit : {"_us", "_ms"})
        if (field.ends_with(unit)) field.remove_suffix(unit.size());
    std::string label(field);
    std::replace(label.begin(), label.end(), '_', ' ');
    return label;
}

std::string value_text(std::string_view field, const json::value& value) {
    if (value.is_null()) return "-";
    if (value.is_bool()) return value.get_bool() ? "yes" : "no";
    if (value.is_string()) return value.get_string().empty() ? "-" : std::string(value.get_string());
    if (const auto* items = value.if_array()) {
        std::string all;
        for (const json::value& item : *items)
            all += (all.empty() ? "" : ", ") + value_text("", item);
        return all.empty() ? "-" : all;
    }
    if (value.is_int64() && field.ends_with("_ms"))
        return format_duration(std::chrono::milliseconds{value.get_int64()});
    return json::serialize(value) + (field.ends_with("_us") ? " us" : "");
}

/// Prints all fields of the answer, including those that this version does not know: one line each, nested ones
/// indented.
void show_fields(const Screen& screen, const json::object& object, const std::string& indent) {
    for (const auto& [field, value] : object) {
        if (const auto* nested = value.if_object()) {
            screen.line(indent + label_of(field) + ":");
            show_fields(screen, *nested, indent + "  ");
        } else if (indent.size() > 2 || !is_in_headline(field)) {
            screen.line(indent + label_of(field) + ": " + value_text(field, value));
        }
    }
}

std::string headline(const json::value& store, bool colours) {
    const json::value& places = field_of(store, "addresses");
    const std::string address = places.is_array() ? value_text("", places) : text_of(store, "address");
    const std::string why = text_of(store, "why");
    const bool reachable = flag_of(store, "reachable");
    return printable(text_of(store, "engine")) + (address.empty() ? "" : " at " + printable(address)) + ": " +
           coloured(reachable ? "reachable" : "not reachable", reachable ? Colour::green : Colour::red, colours) +
           (why.empty() ? "" : ": " + printable(why));
}

std::string describe_readiness(const json::value& ready, bool colours) {
    if (flag_of(ready, "ready")) return coloured("ready: leases are granted here", Colour::green, colours);
    const std::string reason = text_of(ready, "reason");
    const auto left = std::chrono::milliseconds{number_of(ready, "retry_in_ms")};
    return coloured("not ready", Colour::yellow, colours) + " (" + printable(text_of(ready, "code")) +
           (left.count() > 0 ? ", for another " + format_duration(left) : "") + ")" +
           (reason.empty() ? "" : ": " + printable(reason));
}

}  // namespace

int store_status_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto store = api.get("/v1/store");
    if (!store) return fail(screen, store.error());
    if (!store->ok()) return fail(screen, *store);
    const auto ready = api.get("/ready");
    if (!ready) return fail(screen, ready.error());
    if (!field_of(ready->body, "ready").is_bool()) return fail(screen, *ready);  // refused before the check
    if (screen.json()) {
        json::object both = ready->body.as_object();
        both["store"] = store->body;
        screen.show(both);
    } else {
        screen.line(headline(store->body, screen.colours()));
        if (const auto* fields = store->body.if_object()) show_fields(screen, *fields, "  ");
        screen.line(describe_readiness(ready->body, screen.colours()));
    }
    return flag_of(ready->body, "ready") ? exit_ok : exit_not_now;
}

}  // namespace holdfast
