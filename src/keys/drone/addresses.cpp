#include "keys/drone/addresses.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <sys/socket.h>

#include "base/fd.h"
#include "client/server_address.h"

namespace holdfast::keys::drone {
namespace {

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool is_wildcard(const std::string& host) {
    return host == "0.0.0.0" || host == "::" || host == "*";
}

/// An IP address or a possible host name. Not a URL, and without a port, since each backend has its own.
bool is_host(const std::string& host) {
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return true;
    if (host.find_first_not_of("0123456789.") == std::string::npos)
        return ::inet_pton(AF_INET, host.c_str(), &four) == 1;
    return std::all_of(host.begin(), host.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; });
}

/// True for the IP address of an interface of this machine.
bool can_bind(const std::string& host) {
    sockaddr_in four{};
    sockaddr_in6 six{};
    const bool is_four = ::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1;
    if (!is_four && ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) return false;
    four.sin_family = AF_INET;
    six.sin6_family = AF_INET6;
    const Fd socket{::socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) return false;
    const auto* address = is_four ? reinterpret_cast<const sockaddr*>(&four) : reinterpret_cast<const sockaddr*>(&six);
    return ::bind(socket.get(), address, is_four ? sizeof four : sizeof six) == 0;
}

/// A name, or the address of a router in front of this machine, is not a local interface: then backends listen on all
/// of them.
std::string bind_for(const std::string& host) {
    if (host == "localhost") return "127.0.0.1";
    if (can_bind(host)) return host;
    return host.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

}  // namespace

Result<OwnAddress> own_address(const std::string& given, const std::vector<std::string>& controllers) {
    std::string host = given;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (is_wildcard(host) || (!host.empty() && !is_host(host)))
        return Error{Code::invalid_argument,
                     fmt::format("--address '{}' is not a host that clients can connect to; give a name or an IP "
                                 "address, without a port",
                                 given)};
    const auto elsewhere = std::find_if(controllers.begin(), controllers.end(), [](const std::string& url) {
        return !is_loopback(client::split_server(url).host);
    });
    const bool is_remote = elsewhere != controllers.end();
    if (host.empty() && is_remote)
        return Error{Code::invalid_argument,
                     fmt::format("the controller {} is on another machine, and its clients cannot reach backends at "
                                 "127.0.0.1; pass the host under which they reach this one with --address HOST",
                                 *elsewhere)};
    if (host.empty()) host = "127.0.0.1";
    OwnAddress own{host, bind_for(host)};
    if (is_loopback(host))
        own.warning = fmt::format(
            "backends are handed out as {}, which only this machine reaches; for clients "
            "elsewhere, start the drone with --address HOST",
            host);
    return own;
}

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

}  // namespace holdfast::keys::drone
