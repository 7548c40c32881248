#include "cli/mcp/mcp_arguments.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace holdfast::cli::mcp {

namespace json = boost::json;

const json::value* McpArguments::find(std::string_view name) {
    known_.emplace(name);
    return arguments_.if_contains(name);
}

void McpArguments::complain(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
}

std::string McpArguments::text(std::string_view name) {
    const json::value* found = find(name);
    if (found == nullptr) return "";
    if (found->is_string()) return std::string(found->get_string());
    complain(fmt::format("'{}' must be text", name));
    return "";
}

std::optional<bool> McpArguments::flag(std::string_view name) {
    const json::value* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_bool()) complain(fmt::format("'{}' must be true or false", name));
    return found->is_bool() && found->get_bool();
}

std::optional<std::int64_t> McpArguments::number(std::string_view name, std::int64_t min, std::int64_t max) {
    const json::value* found = find(name);
    if (found == nullptr) return std::nullopt;
    boost::system::error_code unfit;
    const auto value = found->is_number() ? found->to_number<std::int64_t>(unfit) : min - 1;
    if (!unfit && value >= min && value <= max) return value;
    complain(fmt::format("'{}' must be a whole number from {} to {}", name, min, max));
    return std::nullopt;
}

std::optional<std::chrono::milliseconds> McpArguments::milliseconds(std::string_view name,
                                                                    std::chrono::milliseconds max) {
    const auto value = number(name, 0, max.count());
    return value ? std::optional(std::chrono::milliseconds{*value}) : std::nullopt;
}

const json::array& McpArguments::array(std::string_view name, std::size_t max) {
    static const json::array none;
    const json::value* found = find(name);
    if (found == nullptr) return none;
    if (found->is_array() && !found->get_array().empty() && found->get_array().size() <= max) return found->get_array();
    complain(fmt::format("'{}' must be a list of 1 to {} items", name, max));
    return none;
}

std::vector<std::string> McpArguments::texts(std::string_view name, std::size_t max) {
    std::vector<std::string> list;
    std::set<std::string> seen;
    for (const json::value& one : array(name, max)) {
        if (!one.is_string()) complain(fmt::format("'{}' must be a list of texts", name));
        const std::string text = one.is_string() ? std::string(one.get_string()) : "";
        if (seen.insert(text).second) list.push_back(text);
    }
    return list;
}

std::string McpArguments::problem() const {
    for (const auto& field : arguments_) {
        if (known_.contains(std::string_view(field.key()))) continue;
        std::string names;
        for (const std::string& name : known_)
            names += (names.empty() ? "" : ", ") + name;
        return fmt::format("there is no argument '{}'; there are: {}", std::string_view(field.key()), names);
    }
    return problem_;
}

}  // namespace holdfast::cli::mcp
