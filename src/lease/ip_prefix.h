#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lease/policy.h"

namespace holdfast::lease {

/// An IP address or prefix. IPv4 addresses are stored as IPv4-mapped IPv6 addresses, so that both compare.
struct IpPrefix {
    std::array<std::uint8_t, 16> address{};  ///< zero after the prefix
    unsigned bits = 128;                     ///< prefix length; for IPv4 96 more than in the written form

    auto operator<=>(const IpPrefix&) const = default;
};

/// Parses `10.0.0.7`, `10.0.0.0/8`, `fe80::1`, `2001:db8::/32`. Returns nullopt for anything else.
std::optional<IpPrefix> parse_ip_prefix(std::string_view text);
/// The canonical spelling.
std::string to_string(const IpPrefix& prefix);

/// True for text that looks like an address or a prefix but is malformed: `300.1.1.1`, `10.0.0.0/99`, `10.0/8`,
/// `10.1.2.*`, `fe80:::1`, `[::1]`.
bool is_malformed_address(std::string_view text);

/// Parses a caller's address, which may have a port: `10.0.0.7:4711`, `[fe80::1]:4711`. Returns nullopt if it is
/// malformed.
std::optional<IpPrefix> parse_caller_address(std::string_view text);

/// The key under which a ban is stored: an address or prefix in its canonical spelling, any other text unchanged.
std::string ban_name(std::string text);

/// The bans that are addresses and prefixes, indexed for lookup by address.
class AddressBans {
 public:
    AddressBans() = default;
    explicit AddressBans(const Policy& policy);

    bool covers(const IpPrefix& address) const;
    /// The ban that covers the address, the narrowest if several do; null if none. REQUIRES: `policy` is the one passed
    /// to the constructor.
    const Ban* find(const IpPrefix& address, const Policy& policy) const;
    bool empty() const { return banned_.empty(); }

 private:
    std::set<IpPrefix> banned_;
    std::vector<unsigned> lengths_;  // the distinct prefix lengths in banned_, ascending
};

}  // namespace holdfast::lease
