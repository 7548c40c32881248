#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::inline base {

/// Splits a stream of bytes into lines ending in LF or CR LF, however it is fragmented. A line that is too long is
/// skipped to its end and reported once, so that the next one is read correctly.
class LineSplitter {
 public:
    static constexpr std::size_t max_line = 1U << 20;

    /// Passes every complete line, without its line end, to `on_line`; returns false as soon as `on_line` does.
    template <class OnLine, class OnTooLong>
    bool feed(std::string_view bytes, OnLine on_line, OnTooLong on_too_long) {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            const std::string_view piece = bytes.substr(0, end);
            if (!skipping_ && rest_.size() + piece.size() > max_line) {
                skipping_ = true;
                rest_.clear();
                on_too_long();
            }
            if (!skipping_) rest_ += piece;
            if (end == std::string_view::npos) return true;
            bytes.remove_prefix(end + 1);
            const bool skipped = skipping_;
            skipping_ = false;
            if (!skipped && !hand_over(on_line)) return false;
        }
        return true;
    }

    /// The last line, if the input ended without ending it.
    template <class OnLine>
    void finish(OnLine on_line) {
        if (!skipping_ && !rest_.empty()) hand_over(on_line);
    }

 private:
    template <class OnLine>
    bool hand_over(OnLine on_line) {
        std::string line;
        line.swap(rest_);
        if (line.ends_with('\r')) line.pop_back();
        return on_line(line);
    }

    std::string rest_;
    bool skipping_ = false;
};

}  // namespace holdfast::inline base
