#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// The address at which a server listens.
struct ServerAddress {
    std::string host;  ///< a name or an IP address; an IPv6 address without its brackets
    std::uint16_t port = 7400;

    /// HOST:PORT as in a Host header and in a URL.
    std::string authority() const;
};

/// REQUIRES: parse_server() (http_connection.h) accepted the URL.
ServerAddress split_server(std::string_view url);

/// The addresses between the commas, with surrounding blanks removed; at least one.
std::vector<std::string> split_servers(std::string_view urls);

}  // namespace holdfast
