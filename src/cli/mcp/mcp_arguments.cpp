#include "cli/mcp/mcp_arguments.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace holdfast::cli::mcp {

namespace {

using Kind = JsonValue::Kind;

/// 2^53: a double has every whole number up to here.
constexpr double max_exact = 9'007'199'254'740'992;

/// A JSON Schema counts 5.0 as an integer, too.
std::optional<std::int64_t> whole_number(const JsonValue& value) {
    if (!value.is(Kind::number)) return std::nullopt;
    const double number = std::strtod(value.text.c_str(), nullptr);
    if (std::abs(number) > max_exact || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

}  // namespace

const JsonValue* McpArguments::find(std::string_view name) {
    known_.emplace(name);
    return arguments_.find(name);
}

void McpArguments::complain(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
}

std::string McpArguments::text(std::string_view name) {
    const JsonValue* found = find(name);
    if (found == nullptr) return "";
    if (found->is(Kind::string)) return found->text;
    complain(fmt::format("'{}' must be text", name));
    return "";
}

std::optional<bool> McpArguments::flag(std::string_view name) {
    const JsonValue* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is(Kind::boolean)) complain(fmt::format("'{}' must be true or false", name));
    return found->truth;
}

std::optional<std::int64_t> McpArguments::number(std::string_view name, std::int64_t min, std::int64_t max) {
    const JsonValue* found = find(name);
    if (found == nullptr) return std::nullopt;
    const auto value = whole_number(*found);
    if (value && *value >= min && *value <= max) return value;
    complain(fmt::format("'{}' must be a whole number from {} to {}", name, min, max));
    return std::nullopt;
}

std::optional<std::chrono::milliseconds> McpArguments::milliseconds(std::string_view name,
                                                                    std::chrono::milliseconds max) {
    const auto value = number(name, 0, max.count());
    return value ? std::optional(std::chrono::milliseconds{*value}) : std::nullopt;
}

const JsonValue::List& McpArguments::array(std::string_view name, std::size_t max) {
    static const JsonValue::List none;
    const JsonValue* found = find(name);
    if (found == nullptr) return none;
    if (!found->items.empty() && found->items.size() <= max) return found->items;
    complain(fmt::format("'{}' must be a list of 1 to {} items", name, max));
    return none;
}

std::vector<std::string> McpArguments::texts(std::string_view name, std::size_t max) {
    std::vector<std::string> list;
    std::set<std::string> seen;
    for (const JsonValue& one : array(name, max)) {
        if (!one.is(Kind::string)) complain(fmt::format("'{}' must be a list of texts", name));
        if (seen.insert(one.text).second) list.push_back(one.text);
    }
    return list;
}

std::string McpArguments::problem() const {
    for (const auto& [field, value] : arguments_.members) {
        if (known_.contains(field)) continue;
        std::string names;
        for (const std::string& name : known_)
            names += (names.empty() ? "" : ", ") + name;
        return fmt::format("there is no argument '{}'; there are: {}", field, names);
    }
    return problem_;
}

}  // namespace holdfast::cli::mcp
