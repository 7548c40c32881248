#include "store/redis/stored.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/encodings.h"
#include "lease/resource.h"

namespace holdfast::store::redis {
namespace {

constexpr std::string_view magic = "hf3 ";
constexpr std::array<std::string_view, 2> older_magics{"hf1 ", "hf2 "};
constexpr std::size_t size_digits = 8;  // of the size of the holders
constexpr std::size_t fixed_bytes = mark_bytes + 1 + size_digits + 1;
constexpr std::size_t max_line_bytes = 512;
constexpr std::size_t length_digits = 4;  // of a notice
constexpr std::int64_t ns_per_us = 1000;

static_assert(cas::Engine::notice_bytes < 1U << (4 * length_digits));

template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Removes the next word and the blank after it from the line.
std::string_view take_word(std::string_view& line) {
    const auto end = std::min(line.find(' '), line.size());
    const auto word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

std::string time_word(EngineTime time, Micros micros) {
    return time == EngineTime::max() ? "-" : std::to_string(micros);
}

/// The size of the holders, from the first bytes of a value.
std::optional<std::size_t> holders_size(std::string_view text) {
    if (text.size() < fixed_bytes || text[mark_bytes] != ' ' || text[fixed_bytes - 1] != '\n') return std::nullopt;
    const auto size = number_of<std::uint32_t>(text.substr(mark_bytes + 1, size_digits), 16);
    if (!size || text.size() - fixed_bytes < *size) return std::nullopt;
    return *size;
}

}  // namespace

std::string mark_of(WriteId write) {
    std::string out(magic);
    out += to_hex(write.bytes());
    return out;
}

std::string stored_header(const cas::Swap& swap) {
    const bool is_record = swap.kind == Kind::record;
    std::string holders;
    for (const std::string_view holder : swap.holders)
        (holders += holder) += '\n';
    std::string out = fmt::format("{} {:08x}\n{}", mark_of(swap.becomes), holders.size(), holders);
    out +=
        fmt::format("{} {} {}", swap.written_at.time_since_epoch().count(), time_word(swap.due, micros_down(swap.due)),
                    time_word(swap.keep_until, micros_up(swap.keep_until)));
    if (is_record)
        for (const std::string_view folder : folders_of(swap.name))
            (out += ' ') += std::to_string(folder.size());
    return out += '\n';
}

std::optional<cas::StoredValue> read_stored(std::string text) {
    if (!text.starts_with(magic)) return std::nullopt;
    const auto size = holders_size(text);
    const auto write = size ? from_hex(text.substr(magic.size(), 2 * WriteId::size)) : std::nullopt;
    if (!write || WriteId::from_bytes(*write) == WriteId{}) return std::nullopt;
    const std::string_view rest = std::string_view(text).substr(fixed_bytes + *size);
    const auto end = rest.substr(0, max_line_bytes).find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = rest.substr(0, end);
    const auto written_at = number_of<std::int64_t>(take_word(line));
    const auto due = take_word(line), keep_until = take_word(line);
    for (const std::string_view time : {due, keep_until})
        if (time != "-" && !number_of<Micros>(time)) return std::nullopt;
    if (!written_at) return std::nullopt;
    text.erase(0, fixed_bytes + *size + end + 1);
    return cas::StoredValue{WriteId::from_bytes(*write), EngineTime{Duration{*written_at}}, std::move(text)};
}

bool is_of_older_version(std::string_view text) {
    return std::ranges::any_of(older_magics, [&](std::string_view older) { return text.starts_with(older); });
}

std::string with_length(std::string_view notice) {
    return fmt::format("{:04x}{}", notice.size(), notice);
}

std::vector<std::string_view> notices_in(std::string_view message) {
    std::vector<std::string_view> notices;
    while (!message.empty()) {
        const auto size = number_of<std::size_t>(message.substr(0, length_digits), 16);
        if (!size || message.size() < length_digits + *size) return {};
        notices.push_back(message.substr(length_digits, *size));
        message.remove_prefix(length_digits + *size);
    }
    return notices;
}

std::vector<std::string_view> folders_above(std::string_view path) {
    std::vector<std::string_view> out;
    for (auto slash = path.find('/'); slash != std::string_view::npos && out.size() <= max_folder_depth;
         slash = path.find('/', slash + 1))
        out.push_back(path.substr(0, slash));
    return out;
}

std::string_view folder_with_set(std::string_view folder) {
    const auto above = folders_above(folder);
    return above.size() > max_folder_depth ? above[max_folder_depth] : folder;
}

std::vector<std::string_view> folders_of(std::string_view resource) {
    const auto file = lease::file_path(resource);
    if (!file) return {};
    std::vector<std::string_view> out = folders_above(file->path);
    for (std::string_view& folder : out)
        folder = resource.substr(0, file->scope.size() + folder.size());
    return out;
}

Micros micros_down(EngineTime time) {
    return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}

Micros micros_up(EngineTime time) {
    return std::chrono::ceil<std::chrono::microseconds>(time.time_since_epoch()).count();
}

EngineTime from_micros(Micros micros) {
    constexpr Micros most = std::numeric_limits<std::int64_t>::max() / ns_per_us;
    return EngineTime{Duration{std::clamp(micros, -most, most) * ns_per_us}};
}

std::optional<Micros> read_time(std::string_view seconds, std::string_view micros) {
    constexpr Micros most = Micros{1} << 32;  // seconds: 136 years; the same in microseconds is exact in Lua
    const auto whole = number_of<Micros>(seconds);
    const auto rest = number_of<Micros>(micros);
    if (!whole || !rest || *whole < 0 || *whole > most || *rest < 0 || *rest > 999'999) return std::nullopt;
    return *whole * 1'000'000 + *rest;
}

Keys::Keys(std::string_view prefix, In in) {
    const std::string front = in == In::cluster ? '{' + std::string(prefix) + '}' : std::string(prefix);
    record_ = front + ":r:";
    document_ = front + ":d:";
    holder_ = front + ":h:";
    folder_ = front + ":f:";
    due_ = front + ":due";
    position_ = front + ":position";
}

std::string Keys::pattern(Kind kind, std::string_view name_prefix) const {
    std::string out;
    for (const char c : kept(kind, name_prefix)) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out + '*';
}

std::string_view Keys::name_of(Kind kind, std::string_view key) const {
    return key.substr(kind == Kind::record ? record_.size() : document_.size());
}

}  // namespace holdfast::store::redis
