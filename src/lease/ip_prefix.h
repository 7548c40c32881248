#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lease/policy.h"

namespace holdfast::core {

/// An IP address, or all that begin with the same bits. IPv4 is what IPv6 maps it to, so that both compare.
struct IpPrefix {
    std::array<std::uint8_t, 16> address{};  ///< zero after the prefix
    unsigned bits = 128;                     ///< of IPv4: 96 more than people write

    auto operator<=>(const IpPrefix&) const = default;
};

/// `10.0.0.7`, `10.0.0.0/8`, `fe80::1`, `2001:db8::/32`. Nothing if it is not one.
std::optional<IpPrefix> parse_ip_prefix(std::string_view text);
/// As people write it, in one way only.
std::string to_string(const IpPrefix& prefix);

/// True for text that is meant to be an address or a prefix and is none: `300.1.1.1`, `10.0.0.0/99`, `10.0/8`,
/// `10.1.2.*`, `fe80:::1`, `[::1]`.
bool is_malformed_address(std::string_view text);

/// The address of a caller, which may carry a port: `10.0.0.7:4711`, `[fe80::1]:4711`. Nothing if it is not one.
std::optional<IpPrefix> parse_caller_address(std::string_view text);

/// What a ban is kept under: an address or prefix in its one spelling, anything else as it is.
std::string ban_name(std::string text);

/// Those bans that are addresses and prefixes, so that one address is looked up among many.
class AddressBans {
 public:
    AddressBans() = default;
    explicit AddressBans(const Policy& policy);

    bool covers(const IpPrefix& address) const;
    /// The ban that covers it, the narrowest if several do; null if none. REQUIRES: the policy that this was made of.
    const Ban* find(const IpPrefix& address, const Policy& policy) const;
    bool empty() const { return banned_.empty(); }

 private:
    std::set<IpPrefix> banned_;
    std::vector<unsigned> lengths_;  // that there are
};

}  // namespace holdfast::core
