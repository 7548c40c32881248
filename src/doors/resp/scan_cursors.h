#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace holdfast {

/// Where the scans of one connection go on. A cursor of Redis is a number; where the store's own is not, a number
/// stands for it, for as long as this connection has not begun many other pages.
class ScanCursors {
 public:
    std::string number_of(const std::string& next) {
        if (next.empty()) return "0";
        if (parse_number(next)) return next;
        std::string& place = kept_[++last_ % kept_.size()];
        place = next;
        return std::to_string(last_);
    }

    /// What the number stands for; the number itself if it is none of these.
    std::string next_of(std::uint64_t number) const {
        if (number == 0) return {};
        const bool kept = number <= last_ && number + kept_.size() > last_;
        return kept ? kept_[number % kept_.size()] : std::to_string(number);
    }

 private:
    std::array<std::string, 16> kept_;
    std::uint64_t last_ = 0;
};

}  // namespace holdfast
