#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::inline base {

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

    bool is(Kind other) const { return kind == other; }
    const JsonValue* find(std::string_view key) const;
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

/// Reads one JSON object; empty text is an empty object. Error `invalid_json` for anything else, for text that is not
/// UTF-8, a duplicate key in one object, and beyond the limits.
Result<JsonValue> read_json_object(std::string_view text, JsonLimits limits = {});

/// As compact text.
std::string to_text(const JsonValue& value);

}  // namespace holdfast::inline base
