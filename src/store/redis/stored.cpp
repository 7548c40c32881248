#include "store/redis/stored.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/encodings.h"
#include "store/redis/slots.h"

namespace holdfast::store::redis {
namespace {

constexpr std::string_view magic = "hf2 ";
constexpr std::string_view older_magic = "hf1 ";
constexpr std::size_t max_header_bytes = 128;
constexpr std::int64_t ns_per_us = 1000;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
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

}  // namespace

std::string mark_of(WriteId write) {
    std::string out(magic);
    out += to_hex(write.bytes());
    return out;
}

std::string stored_header(WriteId write, EngineTime written_at, EngineTime due) {
    std::string out = mark_of(write);
    out.reserve(mark_bytes + 64);
    out += ' ';
    out += std::to_string(written_at.time_since_epoch().count());
    out += ' ';
    out += due == EngineTime::max() ? "-" : std::to_string(due.time_since_epoch().count());
    out += '\n';
    return out;
}

std::optional<Stored> read_stored(std::string text) {
    const auto end = std::string_view(text).substr(0, max_header_bytes).find('\n');
    if (end == std::string_view::npos || !text.starts_with(magic)) return std::nullopt;
    std::string_view line = std::string_view(text).substr(magic.size(), end - magic.size());
    const auto mark = take_word(line);
    const auto write = from_hex(mark);
    const auto written_at = number_of<std::int64_t>(take_word(line));
    const auto due_word = take_word(line);
    const auto due = number_of<std::int64_t>(due_word);
    if (!write || write->size() != WriteId::size || WriteId::from_bytes(*write) == WriteId{} || !written_at ||
        (!due && due_word != "-") || !line.empty())
        return std::nullopt;
    text.erase(0, end + 1);
    Stored stored{{WriteId::from_bytes(*write), EngineTime{Duration{*written_at}}, std::move(text)}};
    if (due) stored.due = EngineTime{Duration{*due}};
    return stored;
}

bool is_of_older_version(std::string_view text) {
    return text.starts_with(older_magic);
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
    due_ = front + ":due:";
    position_ = front + ":position";
}

std::string Keys::folder(std::string_view scope, std::string_view path) const {
    return folder_ + std::string(scope) + std::string(path);
}

std::string Keys::due_of(std::string_view resource) const {
    return due(crc16(resource) % due_sets);
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
