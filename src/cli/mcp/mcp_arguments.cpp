#include "cli/mcp/mcp_arguments.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace holdfast {

namespace json = boost::json;

namespace {

std::string quoted(std::string_view name) {
    return "'" + std::string(name) + "'";
}

}  // namespace

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
    complain(quoted(name) + " must be text");
    return "";
}

std::optional<bool> McpArguments::flag(std::string_view name) {
    const json::value* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_bool()) complain(quoted(name) + " must be true or false");
    return found->is_bool() && found->get_bool();
}

std::optional<std::int64_t> McpArguments::number(std::string_view name, std::int64_t least, std::int64_t most) {
    const json::value* found = find(name);
    if (found == nullptr) return std::nullopt;
    boost::system::error_code unfit;
    const auto value = found->is_number() ? found->to_number<std::int64_t>(unfit) : least - 1;
    if (!unfit && value >= least && value <= most) return value;
    complain(quoted(name) + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
}

std::optional<std::chrono::milliseconds> McpArguments::milliseconds(std::string_view name,
                                                                    std::chrono::milliseconds most) {
    const auto value = number(name, 0, most.count());
    return value ? std::optional(std::chrono::milliseconds{*value}) : std::nullopt;
}

const json::array& McpArguments::array(std::string_view name, std::size_t most) {
    static const json::array none;
    const json::value* found = find(name);
    if (found == nullptr) return none;
    if (found->is_array() && !found->get_array().empty() && found->get_array().size() <= most)
        return found->get_array();
    complain(quoted(name) + " must be a list of 1 to " + std::to_string(most));
    return none;
}

std::vector<std::string> McpArguments::texts(std::string_view name, std::size_t most) {
    std::vector<std::string> list;
    std::set<std::string> seen;
    for (const json::value& one : array(name, most)) {
        if (!one.is_string()) complain(quoted(name) + " must be a list of texts");
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
        return "there is no argument " + quoted(field.key()) + "; there are: " + names;
    }
    return problem_;
}

}  // namespace holdfast
