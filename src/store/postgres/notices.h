#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::store::postgres {

/// The limit of one NOTIFY in PostgreSQL: text of less than 8000 bytes.
inline constexpr std::size_t payload_bytes = 7999;

/// Encodes one notice as a NOTIFY payload.
std::string payload_of(std::string_view notice);
/// Decodes a payload. Returns nothing if it is not one of ours.
std::optional<std::vector<std::string>> notices_in(std::string_view payload);

/// Notices queued to be sent together. They may be lost: when too many are queued, the oldest are dropped.
class Notices {
 public:
    void add(std::string_view notice);
    bool empty() const { return waiting_.empty(); }

    /// The payloads to send next, at most `max_payloads`, each with as many notices as fit.
    std::vector<std::string> take(std::size_t max_payloads);

 private:
    std::deque<std::string> waiting_;  ///< each in payload encoding
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::store::postgres
