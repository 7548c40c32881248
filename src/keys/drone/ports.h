#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace holdfast::drone {

/// A TCP port that is not in use and not in `taken`; nullopt if there is none.
std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& taken);

/// Those of the `watched` local ports that have an established connection, according to the kernel's tables.
std::vector<std::uint16_t> busy_ports(const std::vector<std::uint16_t>& watched);

/// The local ports with an established connection, from the text of /proc/net/tcp or tcp6.
std::set<std::uint16_t> established_ports(std::string_view table);

}  // namespace holdfast::drone
