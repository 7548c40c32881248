#include "cli/options.h"

#include <array>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "discovery/publisher/host_port.h"

namespace holdfast::cli {
namespace {

/// The offset that `serve` uses.
constexpr int relay_above_http = 3;

}  // namespace

std::string default_holder() {
    std::array<char, 4096> space{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(getuid(), &entry, space.data(), space.size(), &found);
    const std::string user = found != nullptr ? found->pw_name : std::to_string(getuid());
    std::array<char, 200> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) return user;
    return fmt::format("{}@{}", user, host.data());
}

std::vector<std::string> with_value(std::vector<std::string> command, const std::string& value) {
    for (std::string& word : command)
        for (std::size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at + value.size()))
            word.replace(at, 2, value);
    return command;
}

std::vector<client::ServerAddress> relays_of(const std::string& given, const CommonOptions& common) {
    if (!given.empty()) return *discovery::publisher::parse_relays(given);
    std::vector<client::ServerAddress> relays;
    for (const std::string& server : client::split_servers(common.server)) {
        relays.push_back(client::split_server(server));
        relays.back().port = static_cast<std::uint16_t>(relays.back().port + relay_above_http);
    }
    return relays;
}

}  // namespace holdfast::cli
