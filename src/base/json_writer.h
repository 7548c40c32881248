#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::inline base {

/// Appends compact JSON to a string, commas included. The caller must balance the containers. People read the output on
/// terminals, so terminal control characters are escaped, as JSON allows.
class JsonWriter {
 public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& open_object() { return open('{'); }
    JsonWriter& close_object() { return close('}'); }
    JsonWriter& open_array() { return open('['); }
    JsonWriter& close_array() { return close(']'); }
    JsonWriter& key(std::string_view name);

    JsonWriter& text(std::string_view value);
    JsonWriter& number(std::int64_t value);
    JsonWriter& number(std::uint64_t value);
    JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
    JsonWriter& null() { return raw("null"); }
    /// Appends text that is already JSON.
    JsonWriter& raw(std::string_view json);

    JsonWriter& field(std::string_view name, std::string_view value) { return key(name).text(value); }
    JsonWriter& field(std::string_view name, std::int64_t value) { return key(name).number(value); }
    JsonWriter& field(std::string_view name, std::uint64_t value) { return key(name).number(value); }
    /// Null if the text is empty.
    JsonWriter& field_or_null(std::string_view name, std::string_view value) {
        return value.empty() ? key(name).null() : key(name).text(value);
    }
    JsonWriter& flag(std::string_view name, bool value) { return key(name).boolean(value); }

 private:
    std::string& out_;
    bool comma_ = false;  // the next value or key needs a comma before it

    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    void separate();
    void quote(std::string_view value);
};

}  // namespace holdfast::inline base
