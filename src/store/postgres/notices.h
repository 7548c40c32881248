#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres {

/// What PostgreSQL takes with one NOTIFY: text of less than 8000 bytes.
inline constexpr std::size_t payload_bytes = 7999;

/// One notice as the text of a NOTIFY.
std::string payload_of(std::string_view notice);
/// The notices in a payload; nothing if it is not one of ours.
std::optional<std::vector<std::string>> notices_in(std::string_view payload);

/// Notices that wait to be sent together. They may be lost: when too many wait, the oldest are.
class Notices {
 public:
    void add(std::string_view notice);
    bool empty() const { return waiting_.empty(); }

    /// The payloads to send next, at most so many, each with as many notices as fit.
    std::vector<std::string> take(std::size_t max_payloads);

 private:
    std::deque<std::string> waiting_;  ///< each as it is in a payload
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::postgres
