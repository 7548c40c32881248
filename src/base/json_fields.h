#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace holdfast::inline base {

/// The longest duration accepted from outside, about 30 years. Longer ones are refused before any arithmetic.
inline constexpr std::uint64_t max_duration_ms = 1'000'000'000'000;

/// Reads the fields of a JSON object: each has one type and a range. Reading continues after a mistake, with defaults.
/// Check error() or mistake() after all fields were read.
///
/// A plain getter reads an optional field and returns nullopt or null if it is missing. A `need_` getter takes a
/// missing field for a mistake. Messages name the field with its path, as in `intents[2].resource must be text`.
class JsonFields {
 public:
    /// `path` names the object in messages, such as `intents[2].`. A value that is not an object has no fields.
    /// REQUIRES: the object outlives this.
    explicit JsonFields(const JsonValue& object, std::string path = {});

    const JsonValue& value() const { return *object_; }
    bool has(std::string_view name) const { return object_->find(name) != nullptr; }
    /// Missing or null. The field counts as read.
    bool is_null(std::string_view name);

    std::optional<std::string> text(std::string_view name);
    /// Empty if missing. At most this long, in UTF-8 and without control characters.
    std::string plain_text(std::string_view name, std::size_t max_bytes);
    std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    /// From -most to most.
    std::optional<std::int64_t> signed_whole(std::string_view name, std::int64_t most);
    /// As whole(), but accepts null, which is returned as zero. REQUIRES: least is above zero.
    std::optional<std::uint64_t> whole_or_null(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<std::chrono::milliseconds> milliseconds(std::string_view name,
                                                          std::uint64_t max_ms = max_duration_ms);
    std::optional<bool> boolean(std::string_view name);
    const JsonValue* array(std::string_view name, std::size_t most);
    const JsonValue* object(std::string_view name);
    /// A value of any kind. The caller checks it.
    const JsonValue* any(std::string_view name);

    std::string need_text(std::string_view name);
    std::uint64_t need_whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::int64_t need_signed_whole(std::string_view name, std::int64_t most);
    std::chrono::milliseconds need_milliseconds(std::string_view name, std::uint64_t max_ms = max_duration_ms);
    /// Mistakes in the part, or in an entry, are also mistakes of this object, which must outlive it.
    JsonFields need_object(std::string_view name);
    std::vector<JsonFields> need_objects(std::string_view name);

    /// Records a mistake. Only the first one counts.
    void refuse(std::string message);
    void refuse(Error mistake);
    void check(const Result<void>& result);

    /// The first mistake, but before that a field that was not read: it is the likely cause of a missing one.
    std::optional<Error> error() const;
    /// The first mistake. For a sender that may be newer and have more fields.
    const std::optional<Error>& mistake() const { return mistake_; }

 private:
    const JsonValue* object_;
    std::string path_;
    JsonFields* outer_ = nullptr;
    std::uint64_t read_ =
        0;  // a bit for each member; those beyond 64 count as unread, and no object has so many fields
    std::optional<Error> mistake_;

    JsonFields(const JsonValue& object, std::string path, JsonFields& outer);
    const JsonValue* of_kind(std::string_view name, JsonValue::Kind kind, std::string_view what);
    const JsonValue* needed(const JsonValue* value, std::string_view name);
};

}  // namespace holdfast::inline base
