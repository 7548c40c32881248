#include "lease/ip_prefix.h"

#include <algorithm>
#include <arpa/inet.h>

#include "base/text.h"

namespace holdfast::lease {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr unsigned ipv4_bits_before = 96;
constexpr std::array<std::uint8_t, 12> ipv4_begins{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_ipv4(const IpPrefix& prefix) {
    return prefix.bits >= ipv4_bits_before &&
           std::equal(ipv4_begins.begin(), ipv4_begins.end(), prefix.address.begin());
}

IpPrefix cut(IpPrefix prefix, unsigned bits) {
    prefix.bits = bits;
    for (unsigned i = 0; i < prefix.address.size(); ++i) {
        const unsigned kept = bits > 8 * i ? std::min(8U, bits - 8 * i) : 0U;
        prefix.address[i] = static_cast<std::uint8_t>(prefix.address[i] & (0xff00U >> kept));
    }
    return prefix;
}

/// Without a prefix length.
std::optional<IpPrefix> parse_address(std::string_view text) {
    const std::string terminated(text);
    IpPrefix parsed;
    if (inet_pton(AF_INET6, terminated.c_str(), parsed.address.data()) == 1) return parsed;
    std::copy(ipv4_begins.begin(), ipv4_begins.end(), parsed.address.begin());
    if (inet_pton(AF_INET, terminated.c_str(), parsed.address.data() + ipv4_begins.size()) == 1) return parsed;
    return std::nullopt;
}

}  // namespace

std::optional<IpPrefix> parse_ip_prefix(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::string_view before = text.substr(0, slash);
    auto prefix = parse_address(before);
    if (!prefix || slash == std::string_view::npos) return prefix;
    const auto length = parse_number(text.substr(slash + 1));
    const unsigned first = before.find(':') == std::string_view::npos ? ipv4_bits_before : 0;
    if (!length || *length > 128 - first) return std::nullopt;
    return cut(*prefix, first + static_cast<unsigned>(*length));
}

bool is_malformed_address(std::string_view text) {
    if (parse_ip_prefix(text)) return false;
    const std::size_t first = text.find_first_not_of(blanks);
    const std::size_t last = text.find_last_not_of(blanks);
    if (first == std::string_view::npos) return false;
    if (first > 0 || last + 1 < text.size()) {
        const std::string_view bare = text.substr(first, last + 1 - first);
        return parse_ip_prefix(bare) || is_malformed_address(bare);
    }
    if (const std::size_t zone = text.find('%'); zone != std::string_view::npos && parse_address(text.substr(0, zone)))
        return true;
    const std::size_t slash = text.find('/');
    const std::string_view before = text.substr(0, slash);
    if (parse_address(before)) return true;  // with a length that it cannot have
    if (text.starts_with('[') && parse_caller_address(text)) return true;
    const auto only = [&](std::string_view allowed) {
        return !before.empty() && before.find_first_not_of(allowed) == std::string_view::npos;
    };
    const auto dots = std::count(before.begin(), before.end(), '.');
    const auto colons = std::count(before.begin(), before.end(), ':');
    const bool has_length = slash != std::string_view::npos && parse_number(text.substr(slash + 1)).has_value();
    if (only("0123456789.") && (dots >= 3 || (dots > 0 && has_length))) return true;
    if (only("0123456789.*") && dots > 0 && before.find('*') != std::string_view::npos) return true;
    if (only("0123456789.-") && dots == 6) return true;  // a range
    const bool like_ipv6 = before.find("::") != std::string_view::npos || colons == 7 || (colons > 0 && has_length);
    return only("0123456789abcdefABCDEF:.") && like_ipv6;
}

std::string to_string(const IpPrefix& prefix) {
    const bool ipv4 = is_ipv4(prefix);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const std::uint8_t* from = prefix.address.data() + (ipv4 ? ipv4_begins.size() : 0);
    inet_ntop(ipv4 ? AF_INET : AF_INET6, from, text.data(), text.size());
    if (prefix.bits == 128) return text.data();
    return std::string(text.data()) + "/" + std::to_string(prefix.bits - (ipv4 ? ipv4_bits_before : 0));
}

std::optional<IpPrefix> parse_caller_address(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        return end == std::string_view::npos ? std::nullopt : parse_address(text.substr(1, end - 1));
    }
    if (auto whole = parse_address(text)) return whole;
    return parse_address(text.substr(0, text.rfind(':')));
}

std::string ban_name(std::string text) {
    const auto prefix = parse_ip_prefix(text);
    return prefix ? to_string(*prefix) : text;
}

AddressBans::AddressBans(const Policy& policy) {
    for (const auto& [banned, ban] : policy.bans)
        if (const auto prefix = parse_ip_prefix(banned)) banned_.insert(*prefix);
    for (const IpPrefix& prefix : banned_)
        lengths_.push_back(prefix.bits);
    std::sort(lengths_.begin(), lengths_.end());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
}

bool AddressBans::covers(const IpPrefix& address) const {
    return std::any_of(lengths_.begin(), lengths_.end(),
                       [&](unsigned bits) { return banned_.contains(cut(address, bits)); });
}

const Ban* AddressBans::find(const IpPrefix& address, const Policy& policy) const {
    for (auto bits = lengths_.rbegin(); bits != lengths_.rend(); ++bits) {
        const auto banned = banned_.find(cut(address, *bits));
        if (banned == banned_.end()) continue;
        const auto ban = policy.bans.find(to_string(*banned));
        if (ban != policy.bans.end()) return &ban->second;
    }
    return nullptr;
}

}  // namespace holdfast::lease
