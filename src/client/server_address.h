#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Where a server listens.
struct ServerAddress {
    std::string host;  ///< a name or a number; an IPv6 number without its brackets
    std::uint16_t port = 7400;

    /// As it stands in a Host header and in a URL.
    std::string authority() const;
};

/// REQUIRES: parse_server() (http_connection.h) accepted the URL.
ServerAddress split_server(std::string_view url);

/// The addresses between the commas, as they stand but for blanks around them; at least one.
std::vector<std::string> split_servers(std::string_view urls);

}  // namespace holdfast
