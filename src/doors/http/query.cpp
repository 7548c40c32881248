#include "doors/http/query.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::doors::http {
namespace {

constexpr std::size_t max_parameters = 32;

Error invalid_query(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

std::optional<std::string> form_decode(std::string_view text) {
    std::string blanks(text);
    std::replace(blanks.begin(), blanks.end(), '+', ' ');
    return percent_decode(blanks);
}

}  // namespace

Result<Query> Query::parse(std::string_view text) {
    Query query;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view pair = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (pair.empty()) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = form_decode(pair.substr(0, equals));
        auto value = form_decode(pair.substr(std::min(equals + 1, pair.size())));
        if (!name || !value) return invalid_query("the query has a broken escape: " + excerpt(pair));
        if (query.find(*name) != nullptr)
            return invalid_query(fmt::format("the parameter {} is repeated", excerpt(*name)));
        if (query.parameters_.size() == max_parameters) return invalid_query("the query has too many parameters");
        query.parameters_.emplace_back(std::move(*name), std::move(*value));
    }
    return query;
}

const std::string* Query::find(std::string_view name) const {
    const auto found =
        std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.first == name; });
    return found == parameters_.end() ? nullptr : &found->second;
}

const std::string* Query::any(std::string_view name) {
    known_.push_back(name);
    return find(name);
}

std::optional<std::string> Query::text(std::string_view name, std::size_t max_bytes) {
    const std::string* value = any(name);
    if (value == nullptr) return std::nullopt;
    check(check_text({name, *value}, max_bytes));
    return *value;
}

std::optional<std::uint64_t> Query::whole(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const std::string* value = any(name);
    if (value == nullptr) return std::nullopt;
    const auto number = parse_number(*value);
    if (number && *number >= least && *number <= most) return number;
    refuse(fmt::format("{} must be a whole number from {} to {}", name, least, most));
    return std::nullopt;
}

std::optional<bool> Query::boolean(std::string_view name) {
    const std::string* value = any(name);
    if (value == nullptr) return std::nullopt;
    if (*value != "true" && *value != "false") refuse(std::string(name) + " must be true or false");
    return *value == "true";
}

void Query::refuse(std::string message) {
    if (!mistake_) mistake_ = invalid_query(std::move(message));
}

void Query::check(const Result<void>& result) {
    if (!result && !mistake_) mistake_ = result.error();
}

std::optional<Error> Query::error() const {
    for (const auto& parameter : parameters_) {
        if (std::find(known_.begin(), known_.end(), parameter.first) != known_.end()) continue;
        return Error{Code::unknown_field, "this route does not know the parameter " + excerpt(parameter.first)};
    }
    return mistake_;
}

}  // namespace holdfast::doors::http
