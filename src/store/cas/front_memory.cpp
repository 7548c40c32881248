#include "store/cas/front_memory.h"

#include <charconv>
#include <fmt/format.h>
#include <vector>

#include "base/hash.h"

namespace holdfast::store::cas {
namespace {

constexpr std::string_view first_line = "holdfast-front 1\n";
constexpr std::string_view last_line = "checksum ";

std::uint64_t checksum_of(std::string_view text) {
    return hash_text({}, text);
}

template <class Number>
bool read(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(' ', begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

bool read_clock(const std::vector<std::string_view>& words, FrontMemory& memory) {
    Duration::rep at = 0, low = 0, high = 0;
    if (words.size() != 4 || !read(words[1], at) || !read(words[2], low) || !read(words[3], high)) return false;
    memory.clock = ClockOffset{Instant{Duration{at}}, Duration{low}, Duration{high}};
    return true;
}

bool read_line(std::string_view line, FrontMemory& memory) {
    constexpr std::string_view boot = "boot ";
    if (line.starts_with(boot)) {
        memory.boot = line.substr(boot.size());
        return true;
    }
    const auto words = words_of(line);
    if (words[0] == "clock") return read_clock(words, memory);
    if (words[0] == "marker")
        return words.size() == 3 && read(words[1], memory.place.marker.start) &&
               read(words[2], memory.place.marker.count);
    if (words.size() != 2) return false;
    if (words[0] == "position") return read(words[1], memory.place.position);
    Duration::rep longest = 0;
    if (words[0] != "longest" || !read(words[1], longest) || longest <= 0) return false;
    memory.longest = Duration{longest};
    return true;
}

}  // namespace

std::string format(const FrontMemory& memory) {
    const Place& place = memory.place;
    std::string text = fmt::format("{}marker {} {}\nposition {}\nlongest {}\n", first_line, place.marker.start,
                                   place.marker.count, place.position, memory.longest.count());
    if (!memory.boot.empty()) text += fmt::format("boot {}\n", memory.boot);
    if (const auto& clock = memory.clock)
        text += fmt::format("clock {} {} {}\n", clock->at.time_since_epoch().count(), clock->low.count(),
                            clock->high.count());
    return text + fmt::format("{}{}\n", last_line, checksum_of(text));
}

std::optional<FrontMemory> parse_front_memory(std::string_view text) {
    const std::size_t last = text.rfind(last_line);
    if (!text.starts_with(first_line) || last == std::string_view::npos || !text.ends_with('\n')) return std::nullopt;
    std::uint64_t checksum = 0;
    const std::string_view said = text.substr(last + last_line.size(), text.size() - last - last_line.size() - 1);
    if (!read(said, checksum) || checksum != checksum_of(text.substr(0, last))) return std::nullopt;
    FrontMemory memory;
    for (std::string_view rest = text.substr(first_line.size(), last - first_line.size()); !rest.empty();) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos || !read_line(rest.substr(0, end), memory)) return std::nullopt;
        rest.remove_prefix(end + 1);
    }
    return memory;
}

}  // namespace holdfast::store::cas
