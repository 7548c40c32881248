#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::inline base {

/// JSON that was parsed, or is to be written. Numbers keep their text, so that a client's number is returned digit for
/// digit.
struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

    using List = std::vector<JsonValue>;
    struct Member;

    Kind kind = Kind::null;
    bool truth = false;
    bool whole = false;        ///< a number of digits only (no sign, point or exponent) that fits 64 bits
    std::uint64_t number = 0;  ///< if whole
    std::string text{};        ///< of a string, or of a number
    List items{};
    std::vector<Member> members{};

    JsonValue() = default;
    JsonValue(std::nullptr_t);
    JsonValue(std::same_as<bool> auto value) : kind(Kind::boolean), truth(value) {}
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) JsonValue(Integer value) : JsonValue(of_digits(std::to_string(value))) {}
    JsonValue(double value);  ///< REQUIRES: finite
    JsonValue(std::string value);
    JsonValue(std::string_view value);
    JsonValue(const char* value);
    JsonValue(List list);
    /// Null if the text is empty.
    static JsonValue text_or_null(std::string_view text);
    static JsonValue object(std::initializer_list<Member> members = {});
    /// REQUIRES: a number as JSON writes it.
    static JsonValue of_digits(std::string digits);

    bool is(Kind other) const { return kind == other; }
    const JsonValue* find(std::string_view key) const;
    JsonValue* find(std::string_view key);
    /// The member, or null if there is none: for answers of newer and older servers, which must not break a display.
    const JsonValue& operator[](std::string_view key) const;
    /// Adds the member, or replaces it. REQUIRES: an object, or null, which becomes one.
    JsonValue& set(std::string_view key, JsonValue value);
};

struct JsonValue::Member {
    std::string key;
    JsonValue value;
};

/// What a text may cost. The defaults are those for a request; an answer may be a long list.
struct JsonLimits {
    std::size_t depth = 16;
    std::size_t values = 10'000;
};
inline constexpr JsonLimits answer_limits{32, 1'000'000};

/// Reads one JSON value. Error `invalid_json` for anything else, for text that is not UTF-8, a duplicate key in one
/// object, and beyond the limits.
Result<JsonValue> read_json(std::string_view text, JsonLimits limits = {});

/// The same for an object; empty text is an empty object.
Result<JsonValue> read_json_object(std::string_view text, JsonLimits limits = {});

/// As compact text.
std::string to_text(const JsonValue& value);

}  // namespace holdfast::inline base
