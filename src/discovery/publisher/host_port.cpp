#include "discovery/publisher/host_port.h"

#include <fmt/format.h>

#include "base/text.h"

namespace holdfast::discovery::publisher {

Result<client::ServerAddress> parse_host_port(std::string_view text, std::optional<std::uint16_t> default_port) {
    const Error malformed{Code::invalid_argument, fmt::format("'{}' is not HOST:PORT", text)};
    std::string_view host = text;
    std::uint64_t port = default_port.value_or(0);
    const std::size_t bracket = text.rfind(']');
    const std::size_t colon = text.rfind(':');
    const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    if (has_port) {
        host = text.substr(0, colon);
        port = parse_number(text.substr(colon + 1)).value_or(0);
    }
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return malformed;
    }
    if (host.empty() || host.size() > 255 || host.find(' ') != std::string_view::npos || has_control_characters(host))
        return malformed;
    if (port == 0 || port > 65535) return malformed;
    return client::ServerAddress{std::string(host), static_cast<std::uint16_t>(port)};
}

Result<std::vector<client::ServerAddress>> parse_relays(std::string_view text) {
    std::vector<client::ServerAddress> relays;
    for (const std::string& one : client::split_servers(text)) {
        auto relay = parse_host_port(one, relay_port);
        if (!relay) return relay.error();
        relays.push_back(std::move(*relay));
    }
    if (relays.size() > max_relays)
        return Error{Code::invalid_argument, fmt::format("more than {} relays", max_relays)};
    return relays;
}

}  // namespace holdfast::discovery::publisher
