#include "cli/relay_place.h"

#include "discovery/host_port.h"

namespace holdfast {
namespace {

/// As `serve` puts it.
constexpr int relay_above_http = 3;

}  // namespace

ServerAddress relay_place(const std::string& given, const CommonOptions& common) {
    if (!given.empty()) return *discovery::parse_host_port(given, discovery::relay_port);
    ServerAddress relay = split_server(split_servers(common.server).front());
    relay.port = static_cast<std::uint16_t>(relay.port + relay_above_http);
    return relay;
}

}  // namespace holdfast
