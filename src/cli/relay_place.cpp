#include "cli/relay_place.h"

#include "discovery/publisher/host_port.h"

namespace holdfast {
namespace {

/// The offset that `serve` uses.
constexpr int relay_above_http = 3;

}  // namespace

std::vector<ServerAddress> relay_places(const std::string& given, const CommonOptions& common) {
    if (!given.empty()) return *discovery::parse_relays(given);
    std::vector<ServerAddress> relays;
    for (const std::string& server : split_servers(common.server)) {
        relays.push_back(split_server(server));
        relays.back().port = static_cast<std::uint16_t>(relays.back().port + relay_above_http);
    }
    return relays;
}

}  // namespace holdfast
