#include "base/json_fields.h"

#include <charconv>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"

namespace holdfast::inline base {
namespace {

constexpr std::size_t max_fields = 64;

std::string path_of_entry(std::string_view list, std::size_t place) {
    return fmt::format("{}[{}].", list, place);
}

}  // namespace

JsonFields::JsonFields(const JsonValue& object, std::string path) : object_(&object), path_(std::move(path)) {}

JsonFields::JsonFields(const JsonValue& object, std::string path, JsonFields& outer)
    : object_(&object), path_(std::move(path)), outer_(&outer) {}

const JsonValue* JsonFields::any(std::string_view name) {
    for (std::size_t i = 0; i < object_->members.size(); ++i) {
        if (object_->members[i].key != name) continue;
        if (i < max_fields) read_ |= std::uint64_t{1} << i;
        return &object_->members[i].value;
    }
    return nullptr;
}

bool JsonFields::is_null(std::string_view name) {
    const JsonValue* value = any(name);
    return value == nullptr || value->is(JsonValue::Kind::null);
}

const JsonValue* JsonFields::of_kind(std::string_view name, JsonValue::Kind kind, std::string_view what) {
    const JsonValue* value = any(name);
    if (value == nullptr || value->is(kind)) return value;
    refuse(fmt::format("{}{} must be {}", path_, name, what));
    return nullptr;
}

std::optional<std::string> JsonFields::text(std::string_view name) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::string, "text");
    if (value == nullptr) return std::nullopt;
    return value->text;
}

std::string JsonFields::plain_text(std::string_view name, std::size_t max_bytes) {
    std::string value = text(name).value_or("");
    check(check_text({name, value}, max_bytes));
    return value;
}

std::optional<std::uint64_t> JsonFields::whole(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const JsonValue* value = any(name);
    if (value == nullptr) return std::nullopt;
    if (value->whole && value->number >= least && value->number <= most) return value->number;
    refuse(fmt::format("{}{} must be a whole number from {} to {}", path_, name, least, most));
    return std::nullopt;
}

std::optional<std::int64_t> JsonFields::signed_whole(std::string_view name, std::int64_t most) {
    const JsonValue* value = any(name);
    if (value == nullptr) return std::nullopt;
    std::int64_t number = 0;
    const char* end = value->text.data() + value->text.size();
    const auto read = std::from_chars(value->text.data(), end, number);
    const bool whole = value->is(JsonValue::Kind::number) && read.ec == std::errc{} && read.ptr == end &&
                       std::to_string(number) == value->text;
    if (whole && number >= -most && number <= most) return number;
    refuse(fmt::format("{}{} must be a whole number from -{} to {}", path_, name, most, most));
    return std::nullopt;
}

std::optional<std::uint64_t> JsonFields::whole_or_null(std::string_view name, std::uint64_t least, std::uint64_t most) {
    return has(name) && is_null(name) ? std::optional<std::uint64_t>(0) : whole(name, least, most);
}

std::optional<std::chrono::milliseconds> JsonFields::milliseconds(std::string_view name, std::uint64_t max_ms) {
    const auto ms = whole(name, 0, max_ms);
    if (!ms) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

std::optional<bool> JsonFields::boolean(std::string_view name) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::boolean, "true or false");
    if (value == nullptr) return std::nullopt;
    return value->truth;
}

const JsonValue* JsonFields::array(std::string_view name, std::size_t most) {
    const JsonValue* value = of_kind(name, JsonValue::Kind::array, "a list");
    if (value == nullptr || value->items.size() <= most) return value;
    refuse(fmt::format("{}{} may have at most {} entries", path_, name, most));
    return nullptr;
}

const JsonValue* JsonFields::object(std::string_view name) {
    return of_kind(name, JsonValue::Kind::object, "an object");
}

/// Returns an empty value if there is none, so that reading can go on.
const JsonValue* JsonFields::needed(const JsonValue* value, std::string_view name) {
    static const JsonValue nothing;
    if (value != nullptr) return value;
    refuse(fmt::format("{}{} is missing", path_, name));
    return &nothing;
}

std::string JsonFields::need_text(std::string_view name) {
    return needed(of_kind(name, JsonValue::Kind::string, "text"), name)->text;
}

std::uint64_t JsonFields::need_whole(std::string_view name, std::uint64_t least, std::uint64_t most) {
    needed(any(name), name);
    return whole(name, least, most).value_or(least);
}

std::int64_t JsonFields::need_signed_whole(std::string_view name, std::int64_t most) {
    needed(any(name), name);
    return signed_whole(name, most).value_or(0);
}

std::chrono::milliseconds JsonFields::need_milliseconds(std::string_view name, std::uint64_t max_ms) {
    return std::chrono::milliseconds(need_whole(name, 0, max_ms));
}

JsonFields JsonFields::need_object(std::string_view name) {
    return {*needed(object(name), name), fmt::format("{}{}.", path_, name), *this};
}

std::vector<JsonFields> JsonFields::need_objects(std::string_view name) {
    const JsonValue* list = needed(of_kind(name, JsonValue::Kind::array, "a list"), name);
    const std::string path = path_ + std::string(name);
    std::vector<JsonFields> entries;
    entries.reserve(list->items.size());
    for (const JsonValue& item : list->items) {
        if (!item.is(JsonValue::Kind::object)) refuse(fmt::format("{}[{}] must be an object", path, entries.size()));
        entries.push_back({item, path_of_entry(path, entries.size()), *this});
    }
    return entries;
}

void JsonFields::refuse(std::string message) {
    refuse(Error{Code::invalid_argument, std::move(message)});
}

void JsonFields::check(const Result<void>& result) {
    if (!result) refuse(Error{result.error().code, path_ + result.error().message});
}

void JsonFields::refuse(Error mistake) {
    if (outer_ != nullptr) outer_->refuse(mistake);
    if (!mistake_) mistake_ = std::move(mistake);
}

std::optional<Error> JsonFields::error() const {
    for (std::size_t i = 0; i < object_->members.size(); ++i) {
        if (i < max_fields && (read_ >> i & 1) != 0) continue;
        return Error{Code::unknown_field,
                     fmt::format("this route does not know the field {}{}", path_, excerpt(object_->members[i].key))};
    }
    return mistake_;
}

}  // namespace holdfast::inline base
