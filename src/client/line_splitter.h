#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

/// Cuts a stream of bytes into lines ending in LF or CR LF, however the pieces arrive. A line longer than 1 MiB is an
/// overflow: the stream is then of no use.
class LineSplitter {
 public:
    /// Hands every whole line, without its end, to `on_line`; false as soon as that returns false.
    bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line) {
        rest_ += bytes;
        std::size_t from = 0;
        for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
            auto line = std::string_view(rest_).substr(from, end - from);
            if (line.ends_with('\r')) line.remove_suffix(1);
            from = end + 1;
            if (!on_line(line)) return false;
        }
        rest_.erase(0, from);
        return true;
    }

    bool overflowed() const { return rest_.size() > bytes_max; }

 private:
    static constexpr std::size_t bytes_max = 1 << 20;
    std::string rest_;
};

}  // namespace holdfast
