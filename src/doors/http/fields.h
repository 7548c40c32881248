#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/http/json_value.h"
#include "lease/limits.h"

namespace holdfast::http {

/// Milliseconds from here on are refused before anyone computes with them: some 30 years.
inline constexpr std::uint64_t max_duration_ms = 1'000'000'000'000;
/// A holder's own time, so that a timeline added to it stays below 2^53.
inline constexpr std::uint64_t max_client_time_ms = 9'000'000'000'000'000;
/// A priority is a time too, or anything else that orders, before or after zero.
inline constexpr std::int64_t max_priority = 9'000'000'000'000'000;
/// Of an epoch and of a progress counter: what every JSON reader keeps exact.
inline constexpr std::uint64_t max_count = core::limits::epoch_ceiling - 1;

/// Reads the fields of a JSON object strictly: each has its one type, and one nobody asked for is an error. Reading
/// goes on after a mistake; error() tells of it once all fields were asked for.
class Fields {
 public:
    /// `path` names the object in messages, such as `intents[2].`. REQUIRES: the object outlives this.
    explicit Fields(const JsonValue& object, std::string path = {});

    bool has(std::string_view name) const { return object_.find(name) != nullptr; }

    std::optional<std::string> text(std::string_view name);
    std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    /// From -most to most.
    std::optional<std::int64_t> signed_whole(std::string_view name, std::int64_t most);
    /// As whole(), or null for none, which comes as zero. REQUIRES: least is above zero.
    std::optional<std::uint64_t> whole_or_null(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<bool> boolean(std::string_view name);
    const JsonValue* array(std::string_view name, std::size_t most);
    const JsonValue* object(std::string_view name);
    /// Any kind, for those who look themselves.
    const JsonValue* any(std::string_view name);

    /// Says that a value is not what it should be. The first mistake is the one told.
    void refuse(std::string message);
    void check(const Result<void>& result);

    /// An unknown field comes first: it is the likely cause of one that is missing.
    std::optional<Error> error() const;

 private:
    const JsonValue& object_;
    std::string path_;
    std::vector<std::string_view> known_;
    std::optional<Error> mistake_;

    const JsonValue* of_kind(std::string_view name, JsonValue::Kind kind, std::string_view what);
};

/// A client's text as it may stand in a message: cut short, and escaped if it is not plain.
std::string shown(std::string_view text);

}  // namespace holdfast::http
