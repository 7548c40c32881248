#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::client {

/// Reads untrusted JSON, and records whether a required field was missing or malformed. Owns the parsed document. To be
/// included in .cpp files only.
class JsonReader {
 public:
    explicit JsonReader(std::string_view text) {
        boost::json::error_code bad;
        document_ = boost::json::parse(text, bad);
        if (bad) ok_ = false;
    }

    bool ok() const { return ok_; }
    const boost::json::value& document() const { return document_; }

    const boost::json::object& object(const boost::json::value& value) {
        if (const auto* found = value.if_object()) return *found;
        return ok_ = false, no_object_;
    }
    const boost::json::array& array(const boost::json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        if (found != nullptr && found->is_array()) return found->get_array();
        return ok_ = false, no_array_;
    }
    const boost::json::object& object(const boost::json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        return found != nullptr ? object(*found) : object(boost::json::value{});
    }
    std::string text(const boost::json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        if (found != nullptr && found->is_string()) return std::string(found->get_string());
        return ok_ = false, std::string{};
    }
    std::string optional_text(const boost::json::object& in, std::string_view name) {
        return in.contains(name) ? text(in, name) : std::string{};
    }
    /// False if the field is missing.
    static bool flag(const boost::json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        return found != nullptr && found->is_bool() && found->get_bool();
    }
    std::int64_t any_number(const boost::json::object& in, std::string_view name) {
        const auto* found = in.if_contains(name);
        boost::json::error_code bad;
        const auto number = found != nullptr ? found->to_number<std::int64_t>(bad) : 0;
        if (found != nullptr && !bad) return number;
        return ok_ = false, 0;
    }
    /// At least zero.
    std::int64_t number(const boost::json::object& in, std::string_view name) {
        const auto number = any_number(in, name);
        if (number >= 0) return number;
        return ok_ = false, 0;
    }
    std::chrono::milliseconds milliseconds(const boost::json::object& in, std::string_view name) {
        const auto ms = number(in, name);
        if (ms > max_duration_ms) ok_ = false;
        return std::chrono::milliseconds{ok_ ? ms : 0};
    }

 private:
    /// An authority never sends a longer duration; a larger value is malformed, and could overflow.
    static constexpr std::int64_t max_duration_ms = std::int64_t{1000} * 60 * 60 * 24 * 365;

    bool ok_ = true;
    boost::json::value document_;
    boost::json::object no_object_;
    boost::json::array no_array_;
};

}  // namespace holdfast::client
