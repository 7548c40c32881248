#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace holdfast::drone {

/// A TCP port that nobody listens on and that is not among these; nothing if there is none.
std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& taken);

/// Of these ports of this machine, those with an established connection, as the kernel's tables tell.
std::vector<std::uint16_t> busy_ports(const std::vector<std::uint16_t>& watched);

/// The same from the text of /proc/net/tcp or tcp6.
std::set<std::uint16_t> established_ports(std::string_view table);

}  // namespace holdfast::drone
