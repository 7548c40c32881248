#include "store/redis/slots.h"

#include <algorithm>
#include <array>

namespace holdfast::store::redis {
namespace {

constexpr std::size_t max_masters = 1000;

constexpr std::array<std::uint16_t, 256> crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

Error malformed(std::string what) {
    return {Code::store_unavailable, "the Redis cluster's list of slots cannot be read: " + std::move(what)};
}

using Type = codec::resp::Value::Type;

struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
    Master master;
};

Result<Range> read_range(const codec::resp::Value& row, const std::string& asked) {
    if (row.type != Type::array || row.items.size() < 3 || row.items[0].type != Type::integer ||
        row.items[1].type != Type::integer || row.items[2].items.size() < 3)
        return malformed("a row is not FROM, TO and nodes");
    const auto first = row.items[0].number;
    const auto last = row.items[1].number;
    if (first < 0 || last < first || last >= static_cast<std::int64_t>(slot_count))
        return malformed("there is no such slot");
    const auto& node = row.items[2].items;
    if (node[1].type != Type::integer || node[1].number < 1 || node[1].number > 65535 || !node[2].is_text())
        return malformed("a node has no port or no id");
    const bool unknown = !node[0].is_text() || node[0].text.empty() || node[0].text == "?";
    return Range{static_cast<std::size_t>(first),
                 static_cast<std::size_t>(last),
                 {node[2].text, {unknown ? asked : node[0].text, static_cast<std::uint16_t>(node[1].number)}}};
}

}  // namespace

std::uint16_t crc16(std::string_view text) {
    unsigned crc = 0;
    for (const char c : text)
        crc = (crc << 8 & 0xffff) ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xff];
    return static_cast<std::uint16_t>(crc);
}

std::uint16_t slot_of(std::string_view key) {
    const auto open = key.find('{');
    const auto close = open == std::string_view::npos ? open : key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
    return crc16(key) % slot_count;
}

Result<SlotOwner> read_slots(const codec::resp::Value& answer, std::uint16_t slot, const std::string& asked) {
    if (answer.type != codec::resp::Value::Type::array) return malformed("it is no list");
    SlotOwner owner;
    for (const codec::resp::Value& row : answer.items) {
        const auto range = read_range(row, asked);
        if (!range) return range.error();
        if (range->first <= slot && slot <= range->last) owner.master = range->master;
        if (std::ranges::find(owner.masters, range->master.place) == owner.masters.end())
            owner.masters.push_back(range->master.place);
        if (owner.masters.size() > max_masters) return malformed("there are more than 1000 masters");
    }
    if (owner.masters.empty()) return malformed("nobody has a slot");
    return owner;
}

}  // namespace holdfast::store::redis
