#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>
#include <utility>

#include "base/assert.h"
#include "base/code.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace holdfast::inline base {
namespace {

namespace json = boost::json;

Error invalid_json(std::string why) {
    return {Code::invalid_json, std::move(why)};
}

bool has_repeated_key(const JsonValue& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.members.size());
    for (const auto& member : object.members)
        keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

/// Builds a JsonValue from the parser's callbacks, whose names Boost.JSON prescribes.
struct Builder {
    static constexpr std::size_t max_array_size = -1;
    static constexpr std::size_t max_object_size = -1;
    static constexpr std::size_t max_string_size = -1;
    static constexpr std::size_t max_key_size = -1;

    explicit Builder(std::size_t max_values) : max_values_(max_values) {}

    JsonValue root;
    std::string problem;  // an error that Boost.JSON has no code for

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }

    bool on_array_begin(json::error_code& error) { return open(JsonValue::Kind::array, error); }
    bool on_object_begin(json::error_code& error) { return open(JsonValue::Kind::object, error); }
    bool on_array_end(std::size_t, json::error_code&) { return close(); }
    bool on_object_end(std::size_t, json::error_code& error) {
        if (has_repeated_key(open_.back())) return refuse("a key is repeated in one object", error);
        return close();
    }

    bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return collect(part); }
    bool on_string(json::string_view rest, std::size_t, json::error_code& error) {
        collect(rest);
        return add(std::exchange(text_, {}), error);
    }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return collect(part); }
    bool on_key(json::string_view rest, std::size_t, json::error_code&) {
        collect(rest);
        open_.back().members.push_back({std::exchange(text_, {}), {}});
        return true;
    }

    bool on_number_part(json::string_view part, json::error_code&) { return collect(part); }
    bool on_int64(std::int64_t, json::string_view rest, json::error_code& error) { return add_number(rest, error); }
    bool on_uint64(std::uint64_t, json::string_view rest, json::error_code& error) { return add_number(rest, error); }
    bool on_double(double, json::string_view rest, json::error_code& error) { return add_number(rest, error); }
    bool on_bool(bool truth, json::error_code& error) { return add(truth, error); }
    bool on_null(json::error_code& error) { return add(nullptr, error); }

 private:
    std::vector<JsonValue> open_;  // containers that have not ended, outermost first
    std::string text_;
    const std::size_t max_values_;
    std::size_t values_ = 0;

    bool refuse(const char* why, json::error_code& error) {
        problem = why;
        error = json::error::syntax;
        return false;
    }

    bool collect(json::string_view part) {
        text_.append(part.data(), part.size());
        return true;
    }

    bool add_number(json::string_view rest, json::error_code& error) {
        collect(rest);
        return add(JsonValue::of_digits(std::exchange(text_, {})), error);
    }

    bool open(JsonValue::Kind kind, json::error_code& error) {
        if (++values_ > max_values_) return refuse("it has too many values", error);
        open_.emplace_back().kind = kind;
        return true;
    }

    bool close() {
        JsonValue ended = std::move(open_.back());
        open_.pop_back();
        place(std::move(ended));
        return true;
    }

    bool add(JsonValue value, json::error_code& error) {
        if (++values_ > max_values_) return refuse("it has too many values", error);
        place(std::move(value));
        return true;
    }

    void place(JsonValue value) {
        if (open_.empty()) {
            root = std::move(value);
        } else if (open_.back().kind == JsonValue::Kind::array) {
            open_.back().items.push_back(std::move(value));
        } else {
            open_.back().members.back().value = std::move(value);
        }
    }
};

void write(JsonWriter& writer, const JsonValue& value) {
    switch (value.kind) {
        case JsonValue::Kind::null:
            writer.null();
            break;
        case JsonValue::Kind::boolean:
            writer.boolean(value.truth);
            break;
        case JsonValue::Kind::number:
            writer.raw(value.text);
            break;
        case JsonValue::Kind::string:
            writer.text(value.text);
            break;
        case JsonValue::Kind::array:
            writer.open_array();
            for (const JsonValue& item : value.items)
                write(writer, item);
            writer.close_array();
            break;
        case JsonValue::Kind::object:
            writer.open_object();
            for (const auto& member : value.members)
                write(writer.key(member.key), member.value);
            writer.close_object();
            break;
    }
}

}  // namespace

JsonValue::JsonValue(std::nullptr_t) {}

JsonValue::JsonValue(double value) : JsonValue(of_digits(fmt::format("{}", value))) {}

JsonValue::JsonValue(std::string value) : kind(Kind::string), text(std::move(value)) {}

JsonValue::JsonValue(std::string_view value) : JsonValue(std::string(value)) {}

JsonValue::JsonValue(const char* value) : JsonValue(std::string(value)) {}

JsonValue::JsonValue(List list) : kind(Kind::array), items(std::move(list)) {}

JsonValue JsonValue::text_or_null(std::string_view text) {
    return text.empty() ? JsonValue() : JsonValue(text);
}

JsonValue JsonValue::object(std::initializer_list<Member> members) {
    JsonValue value;
    value.kind = Kind::object;
    value.members = members;
    return value;
}

JsonValue JsonValue::of_digits(std::string digits) {
    JsonValue value;
    value.kind = Kind::number;
    if (const auto whole = parse_number(digits)) {
        value.whole = true;
        value.number = *whole;
    }
    value.text = std::move(digits);
    return value;
}

const JsonValue* JsonValue::find(std::string_view key) const {
    const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
    return found == members.end() ? nullptr : &found->value;
}

JsonValue* JsonValue::find(std::string_view key) {
    return const_cast<JsonValue*>(std::as_const(*this).find(key));
}

const JsonValue& JsonValue::operator[](std::string_view key) const {
    static const JsonValue null;
    const JsonValue* found = find(key);
    return found == nullptr ? null : *found;
}

JsonValue& JsonValue::set(std::string_view key, JsonValue value) {
    HOLDFAST_ASSERT(is(Kind::object) || is(Kind::null));
    kind = Kind::object;
    if (JsonValue* found = find(key))
        *found = std::move(value);
    else
        members.push_back({std::string(key), std::move(value)});
    return *this;
}

Result<JsonValue> read_json(std::string_view text, JsonLimits limits) {
    json::parse_options options;
    options.max_depth = limits.depth;
    json::basic_parser<Builder> parser(options, limits.values);
    json::error_code error;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    Builder& builder = parser.handler();
    if (!builder.problem.empty()) return invalid_json(builder.problem);
    if (error) return invalid_json(fmt::format("{} at byte {}", error.message(), used));
    if (used != text.size()) return invalid_json(fmt::format("something follows it at byte {}", used));
    return std::move(builder.root);
}

Result<JsonValue> read_json_object(std::string_view text, JsonLimits limits) {
    if (text.empty()) return JsonValue::object();
    auto value = read_json(text, limits);
    if (value && value->is(JsonValue::Kind::object)) return value;
    return invalid_json(fmt::format("the body is not a JSON object in UTF-8: {}",
                                    value ? "it is JSON of another kind" : value.error().message));
}

std::string to_text(const JsonValue& value) {
    std::string text;
    JsonWriter writer(text);
    write(writer, value);
    return text;
}

}  // namespace holdfast::inline base
