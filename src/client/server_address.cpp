#include "client/server_address.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

#include "base/assert.h"
#include "base/text.h"

namespace holdfast::client {

namespace {

constexpr std::string_view scheme = "http://";
constexpr std::size_t max_host_bytes = 253;
constexpr std::size_t max_servers = 16;

Error wrong(std::string_view url, std::string_view what) {
    return {Code::invalid_argument,
            fmt::format("'{}' is not a server address: {}; write http://HOST:PORT, for example http://127.0.0.1:7400",
                        url, what)};
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
}

bool is_number_character(char c) {
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

/// Where the host ends: after the bracket of an IPv6 number, else at the first colon or the end.
std::size_t host_end(std::string_view rest) {
    if (!rest.starts_with('[')) return std::min(rest.find(':'), rest.size());
    const auto bracket = rest.find(']');
    return bracket == std::string_view::npos ? bracket : bracket + 1;
}

bool is_host(std::string_view host) {
    if (host.starts_with('[')) {
        host = host.substr(1, host.size() - 2);
        return host.find(':') != std::string_view::npos && std::ranges::all_of(host, is_number_character);
    }
    return !host.empty() && host.size() <= max_host_bytes && std::ranges::all_of(host, is_host_character);
}

Result<ServerAddress> parse(std::string_view url) {
    if (!url.starts_with(scheme)) return wrong(url, "it does not start with http://");
    std::string_view rest = url.substr(scheme.size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find('/') != std::string_view::npos) return wrong(url, "it has a path");
    const auto end = host_end(rest);
    if (end == std::string_view::npos) return wrong(url, "a bracket is not closed");
    std::string_view host = rest.substr(0, end);
    if (!is_host(host)) return wrong(url, "the host is not a name or a number");
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    ServerAddress address{std::string(host)};
    if (end == rest.size()) return address;
    const auto port = parse_number(rest.substr(end + 1));
    if (rest[end] != ':' || !port || *port == 0 || *port > 65535) return wrong(url, "the port is not in 1 to 65535");
    address.port = static_cast<std::uint16_t>(*port);
    return address;
}

std::string without_blanks(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t") + 1 - first));
}

}  // namespace

std::string ServerAddress::authority() const {
    const bool bracketed = host.find(':') != std::string::npos;
    return fmt::format("{}:{}", bracketed ? fmt::format("[{}]", host) : host, port);
}

ServerAddress split_server(std::string_view url) {
    auto address = parse(url);
    HOLDFAST_ASSERT(address);
    return std::move(*address);
}

Result<std::string> parse_server(std::string_view url) {
    const auto address = parse(url);
    if (!address) return address.error();
    return std::string(scheme) + address->authority();
}

std::vector<std::string> split_servers(std::string_view urls) {
    std::vector<std::string> servers;
    for (std::size_t from = 0; from <= urls.size();) {
        const std::size_t comma = std::min(urls.find(',', from), urls.size());
        servers.push_back(without_blanks(urls.substr(from, comma - from)));
        from = comma + 1;
    }
    return servers;
}

Result<std::string> parse_servers(std::string_view urls) {
    std::vector<std::string> servers;
    for (const std::string& url : split_servers(urls)) {
        auto server = parse_server(url);
        if (!server) return server;
        if (std::ranges::find(servers, *server) == servers.end()) servers.push_back(std::move(*server));
    }
    if (servers.size() > max_servers)
        return Error{Code::invalid_argument, fmt::format("more than {} servers are given", max_servers)};
    std::string joined;
    for (const std::string& server : servers)
        joined += (joined.empty() ? "" : ",") + server;
    return joined;
}

std::string default_server(std::string_view given) {
    if (!given.empty()) return std::string(given);
    const char* from_environment = std::getenv("HOLDFAST_SERVER");
    if (from_environment != nullptr && *from_environment != '\0') return from_environment;
    return "http://127.0.0.1:7400";
}

}  // namespace holdfast::client
