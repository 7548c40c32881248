#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace holdfast::doors::resp {

/// The scan cursors of one connection. A Redis cursor is a number. If the store's cursor is not, a number stands for
/// it, until this connection has begun 16 more pages.
class ScanCursors {
 public:
    std::string number_of(const std::string& next) {
        if (next.empty()) return "0";
        if (parse_number(next)) return next;
        std::string& place = kept_[++last_ % kept_.size()];
        place = next;
        return std::to_string(last_);
    }

    /// The store's cursor for this number; the number itself if it stands for none.
    std::string next_of(std::uint64_t number) const {
        if (number == 0) return {};
        const bool kept = number <= last_ && number + kept_.size() > last_;
        return kept ? kept_[number % kept_.size()] : std::to_string(number);
    }

 private:
    std::array<std::string, 16> kept_;
    std::uint64_t last_ = 0;
};

}  // namespace holdfast::doors::resp
