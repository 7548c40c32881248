#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::doors::http {

/// Parsed JSON. Numbers keep their text, so that a client's number is returned digit for digit.
struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

    struct Member;

    Kind kind = Kind::null;
    bool truth = false;
    bool whole = false;        ///< a number of digits only (no sign, point or exponent) that fits 64 bits
    std::uint64_t number = 0;  ///< if whole
    std::string text{};        ///< of a string, or of a number
    std::vector<JsonValue> items{};
    std::vector<Member> members{};

    const JsonValue* find(std::string_view key) const;
};

struct JsonValue::Member {
    std::string key;
    JsonValue value;
};

/// Reads one JSON object; empty text is an empty object. Error `invalid_json` for anything else, for text that is not
/// UTF-8, a duplicate key in one object, more than 16 levels or more than 10,000 values.
Result<JsonValue> read_json_object(std::string_view text);

/// As compact text.
std::string to_text(const JsonValue& value);

}  // namespace holdfast::doors::http
