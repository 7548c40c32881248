#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doors/http/json_value.h"
#include "lease/limits.h"

namespace holdfast::doors::http {

/// The longest duration accepted, about 30 years. Longer ones are refused before any arithmetic.
inline constexpr std::uint64_t max_duration_ms = 1'000'000'000'000;
/// The limit of a holder's own time. A timeline added to it stays below 2^53.
inline constexpr std::uint64_t max_client_time_ms = 9'000'000'000'000'000;
/// The limit of a priority, in both directions. A priority may be a time or any other ordering number.
inline constexpr std::int64_t max_priority = 9'000'000'000'000'000;
/// The limit of an epoch and of a progress counter: every JSON parser keeps such numbers exact.
inline constexpr std::uint64_t max_count = lease::limits::epoch_ceiling - 1;

/// Reads the fields of a JSON object strictly: each has one type, and a field that was not read is an error. Reading
/// continues after a mistake. Call error() after all fields were read.
class Fields {
 public:
    /// `path` names the object in messages, such as `intents[2].`. REQUIRES: the object outlives this.
    explicit Fields(const JsonValue& object, std::string path = {});

    bool has(std::string_view name) const { return object_.find(name) != nullptr; }

    std::optional<std::string> text(std::string_view name);
    std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    /// From -most to most.
    std::optional<std::int64_t> signed_whole(std::string_view name, std::int64_t most);
    /// As whole(), but accepts null, which is returned as zero. REQUIRES: least is above zero.
    std::optional<std::uint64_t> whole_or_null(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<bool> boolean(std::string_view name);
    const JsonValue* array(std::string_view name, std::size_t most);
    const JsonValue* object(std::string_view name);
    /// A value of any kind. The caller checks it.
    const JsonValue* any(std::string_view name);

    /// Records a mistake. error() returns the first one.
    void refuse(std::string message);
    void check(const Result<void>& result);

    /// Reports an unknown field first: it is the likely cause of a missing one.
    std::optional<Error> error() const;

 private:
    const JsonValue& object_;
    std::string path_;
    std::vector<std::string_view> known_;
    std::optional<Error> mistake_;

    const JsonValue* of_kind(std::string_view name, JsonValue::Kind kind, std::string_view what);
};

/// The parameters of the query string, read as strictly as Fields: unknown and repeated ones are errors.
class Query {
 public:
    /// Reads `a=b&c=d`; `+` is a blank, as in forms. Error `invalid_argument` for a bad escape or a repeated name.
    static Result<Query> parse(std::string_view text);

    std::optional<std::string> text(std::string_view name, std::size_t max_bytes);
    std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<bool> boolean(std::string_view name);

    void check(const Result<void>& result);

    /// Reports an unknown parameter first, then the first mistake.
    std::optional<Error> error() const;

 private:
    std::vector<std::pair<std::string, std::string>> parameters_;
    std::vector<std::string_view> known_;
    std::optional<Error> mistake_;

    const std::string* find(std::string_view name) const;
    const std::string* any(std::string_view name);
    void refuse(std::string message);
};

/// A client's text for use in a message: truncated, and escaped if it is not plain.
std::string shown(std::string_view text);

}  // namespace holdfast::doors::http
