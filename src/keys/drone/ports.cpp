#include "keys/drone/ports.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <sys/socket.h>

#include "supervise/fd.h"

namespace holdfast::drone {
namespace {

constexpr int tries = 100;

std::optional<std::uint16_t> some_free_port() {
    const Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (!socket || ::bind(socket.get(), plain, length) != 0 || ::getsockname(socket.get(), plain, &length) != 0)
        return std::nullopt;
    return ntohs(address.sin_port);
}

std::string contents(const char* path) {
    std::ifstream file{path};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

std::optional<std::uint16_t> free_port(const std::set<std::uint16_t>& taken) {
    for (int i = 0; i < tries; ++i) {
        const auto port = some_free_port();
        if (!port || !taken.contains(*port)) return port;
    }
    return std::nullopt;
}

/// Lines of `N: LOCAL:PORT REMOTE:PORT STATE …` in hexadecimal; state 01 is established.
std::set<std::uint16_t> established_ports(std::string_view table) {
    std::set<std::uint16_t> ports;
    std::istringstream lines{std::string(table)};
    std::string line, number, local, remote, state;
    std::getline(lines, line);  // the header line
    while (std::getline(lines, line)) {
        std::istringstream words{line};
        words >> number >> local >> remote >> state;
        const std::size_t colon = local.rfind(':');
        if (state == "01" && colon != std::string::npos)
            ports.insert(static_cast<std::uint16_t>(std::strtoul(local.c_str() + colon + 1, nullptr, 16)));
    }
    return ports;
}

std::vector<std::uint16_t> busy_ports(const std::vector<std::uint16_t>& watched) {
    std::set<std::uint16_t> established = established_ports(contents("/proc/net/tcp"));
    established.merge(established_ports(contents("/proc/net/tcp6")));
    std::vector<std::uint16_t> busy;
    std::copy_if(watched.begin(), watched.end(), std::back_inserter(busy),
                 [&](std::uint16_t port) { return established.contains(port); });
    return busy;
}

}  // namespace holdfast::drone
