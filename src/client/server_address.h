#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::client {

/// The address at which a server listens.
struct ServerAddress {
    std::string host;  ///< a name or an IP address; an IPv6 address without its brackets
    std::uint16_t port = 7400;

    /// HOST:PORT as in a Host header and in a URL.
    std::string authority() const;
};

/// REQUIRES: parse_server() accepted the URL.
ServerAddress split_server(std::string_view url);

/// Checks `http://HOST:PORT` (the default port is 7400; a trailing slash is allowed). The error says what is wrong.
Result<std::string> parse_server(std::string_view url);

/// Checks one such address, or several separated by commas. Returns them without duplicates.
Result<std::string> parse_servers(std::string_view urls);

/// The servers to use: the argument, or HOLDFAST_SERVER, or http://127.0.0.1:7400.
std::string default_server(std::string_view given = {});

/// The addresses between the commas, with surrounding blanks removed; at least one.
std::vector<std::string> split_servers(std::string_view urls);

/// Servers that grant the same leases, such as the nodes of a cluster, and the one to ask: the first until it fails,
/// then the next, and after the last the first again. A server that works stays selected. The connections of one client
/// share this list, so that one failure moves all of them on. May be used from any thread.
class ServerList {
 public:
    /// REQUIRES: parse_servers() accepted them.
    explicit ServerList(std::string_view servers) : servers_(split_servers(servers)) {}

    std::size_t size() const { return servers_.size(); }
    const std::string& at(std::size_t place) const { return servers_[place]; }
    /// The index of the server to ask.
    std::size_t current() const { return current_; }

    /// The server at this index failed. If it is still selected, selects the next.
    void pass_over(std::size_t place) { current_.compare_exchange_strong(place, (place + 1) % size()); }

 private:
    const std::vector<std::string> servers_;
    std::atomic<std::size_t> current_ = 0;
};

}  // namespace holdfast::client
