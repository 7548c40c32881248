#include "doors/http/fields.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

constexpr std::size_t max_shown_bytes = 80;
constexpr std::size_t max_parameters = 32;

Error invalid_query(std::string message) {
    return {std::string(name_of(Code::invalid_argument)), std::move(message)};
}

std::optional<std::string> form_decode(std::string_view text) {
    std::string blanks(text);
    std::replace(blanks.begin(), blanks.end(), '+', ' ');
    return percent_decode(blanks);
}

}  // namespace

std::string shown(std::string_view text) {
    if (text.size() <= max_shown_bytes && is_utf8(text) && !has_control_characters(text)) return std::string(text);
    return percent_encode(text.substr(0, max_shown_bytes)) + (text.size() > max_shown_bytes ? "…" : "");
}

// ---- JSON ----

Fields::Fields(const JsonValue& object, std::string path) : object_(object), path_(std::move(path)) {}

const JsonValue* Fields::any(std::string_view name) {
    known_.push_back(name);
    return object_.find(name);
}

const JsonValue* Fields::of_kind(std::string_view name, JsonValue::Kind kind, std::string_view what) {
    const JsonValue* value = any(name);
    if (value == nullptr || value->kind == kind) return value;
    refuse(fmt::format("{}{} must be {}", path_, name, what));
    return nullptr;
}

std::optional<std::string> Fields::text(std::string_view name) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::string, "text");
    if (value == nullptr) return std::nullopt;
    return value->text;
}

std::optional<std::uint64_t> Fields::whole(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const JsonValue* value = any(name);
    if (value == nullptr) return std::nullopt;
    const bool whole = value->kind == JsonValue::Kind::number && value->whole;
    if (whole && value->number >= least && value->number <= most) return value->number;
    refuse(fmt::format("{}{} must be a whole number from {} to {}", path_, name, least, most));
    return std::nullopt;
}

std::optional<std::int64_t> Fields::signed_whole(std::string_view name, std::int64_t most) {
    const JsonValue* value = any(name);
    if (value == nullptr) return std::nullopt;
    std::int64_t number = 0;
    const char* end = value->text.data() + value->text.size();
    const auto read = std::from_chars(value->text.data(), end, number);
    const bool whole = value->kind == JsonValue::Kind::number && read.ec == std::errc{} && read.ptr == end &&
                       std::to_string(number) == value->text;
    if (whole && number >= -most && number <= most) return number;
    refuse(fmt::format("{}{} must be a whole number from -{} to {}", path_, name, most, most));
    return std::nullopt;
}

std::optional<std::uint64_t> Fields::whole_or_null(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr || value->kind != JsonValue::Kind::null) return whole(name, least, most);
    known_.push_back(name);
    return 0;
}

std::optional<bool> Fields::boolean(std::string_view name) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::boolean, "true or false");
    if (value == nullptr) return std::nullopt;
    return value->truth;
}

const JsonValue* Fields::array(std::string_view name, std::size_t most) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::array, "a list");
    if (value == nullptr || value->items.size() <= most) return value;
    refuse(fmt::format("{}{} may have at most {} entries", path_, name, most));
    return nullptr;
}

const JsonValue* Fields::object(std::string_view name) {
    return of_kind(name, JsonValue::Kind::object, "an object");
}

void Fields::refuse(std::string message) {
    if (!mistake_) mistake_ = Error{std::string(name_of(Code::invalid_argument)), std::move(message)};
}

void Fields::check(const Result<void>& result) {
    if (!result && !mistake_) mistake_ = Error{result.error().code, path_ + result.error().message};
}

std::optional<Error> Fields::error() const {
    for (const auto& member : object_.members) {
        if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
        return Error{std::string(name_of(Code::unknown_field)),
                     fmt::format("this route does not know the field {}{}", path_, shown(member.key))};
    }
    return mistake_;
}

// ---- the query string ----

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
        if (!name || !value) return invalid_query("the query has a broken escape: " + shown(pair));
        if (query.find(*name) != nullptr)
            return invalid_query(fmt::format("the parameter {} is repeated", shown(*name)));
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
    check(lease::check_text({name, *value}, max_bytes));
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
        return Error{std::string(name_of(Code::unknown_field)),
                     "this route does not know the parameter " + shown(parameter.first)};
    }
    return mistake_;
}

}  // namespace holdfast::doors::http
