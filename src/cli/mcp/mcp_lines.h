#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::cli::mcp {

/// Splits input into lines, however it is fragmented. A line that is too long is skipped to its end and reported once,
/// so that the next one is read correctly.
class McpLines {
 public:
    static constexpr std::size_t max_line = 1U << 20;

    /// Passes on every complete line, without its line end.
    void feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line,
              const std::function<void()>& on_too_long) {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            const std::string_view piece = bytes.substr(0, end);
            if (!skipping_ && rest_.size() + piece.size() > max_line) {
                skipping_ = true;
                rest_.clear();
                on_too_long();
            }
            if (!skipping_) rest_ += piece;
            if (end == std::string_view::npos) return;
            bytes.remove_prefix(end + 1);
            if (!skipping_) hand_over(on_line);
            skipping_ = false;
        }
    }

    /// The last line, if the input ended without ending it.
    void finish(const std::function<void(std::string_view)>& on_line) {
        if (!skipping_ && !rest_.empty()) hand_over(on_line);
    }

 private:
    void hand_over(const std::function<void(std::string_view)>& on_line) {
        std::string line;
        line.swap(rest_);
        if (line.ends_with('\r')) line.pop_back();
        on_line(line);
    }

    std::string rest_;
    bool skipping_ = false;
};

}  // namespace holdfast::cli::mcp
