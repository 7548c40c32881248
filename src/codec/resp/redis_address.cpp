#include "codec/resp/redis_address.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.h"

namespace holdfast::codec::resp {

namespace {

constexpr std::string_view scheme = "redis://";
constexpr std::uint16_t redis_port = 6379;
constexpr std::size_t max_host_bytes = 253;
constexpr std::uint64_t max_database = 1'000'000;

Error wrong(std::string_view what) {
    return {Code::invalid_argument, "this is no Redis address: " + std::string(what) +
                                        "; write redis://[:PASSWORD@]HOST:PORT[/DATABASE], for example "
                                        "redis://127.0.0.1:6379"};
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':';
}

bool is_host(std::string_view host) {
    return !host.empty() && host.size() <= max_host_bytes && std::ranges::all_of(host, is_host_character);
}

Result<void> read_credentials(std::string_view text, RedisAddress& address) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return wrong("the part before @ is not [USER]:PASSWORD");
    const auto user = percent_decode(text.substr(0, colon));
    const auto password = percent_decode(text.substr(colon + 1));
    if (!user || !password) return wrong("an escape in the user or the password is malformed");
    address.user = *user;
    address.password = *password;
    return {};
}

Result<void> read_port(std::string_view text, RedisAddress& address) {
    const auto port = text.starts_with(':') ? parse_number(text.substr(1)) : std::nullopt;
    if (!port || *port == 0 || *port > 65535) return wrong("the port is not in 1 to 65535");
    address.port = static_cast<std::uint16_t>(*port);
    return {};
}

/// `HOST[:PORT]`, the host in brackets if it is an IPv6 number.
Result<void> read_place(std::string_view text, RedisAddress& address) {
    const bool bracketed = text.starts_with('[');
    const auto close = text.find(']');
    if (bracketed && close == std::string_view::npos) return wrong("a bracket is not closed");
    const std::size_t end = bracketed ? close + 1 : std::min(text.find(':'), text.size());
    const auto host = bracketed ? text.substr(1, close - 1) : text.substr(0, end);
    if (!is_host(host)) return wrong("the host is not a name or a number");
    address.host = std::string(host);
    address.port = redis_port;
    return end == text.size() ? Result<void>() : read_port(text.substr(end), address);
}

}  // namespace

std::string RedisAddress::shown() const {
    const bool bracketed = host.find(':') != std::string::npos;
    const std::string place = (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
    return std::string(scheme) + place + (database == 0 ? "" : "/" + std::to_string(database));
}

Result<RedisAddress> parse_redis(std::string_view url) {
    if (!url.starts_with(scheme)) return wrong("it does not start with redis://");
    std::string_view rest = url.substr(scheme.size());
    RedisAddress address;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        if (const auto read = read_credentials(rest.substr(0, at), address); !read) return read.error();
        rest.remove_prefix(at + 1);
    }
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        const auto text = rest.substr(slash + 1);
        const auto database = text.empty() ? std::optional<std::uint64_t>{0} : parse_number(text);
        if (!database || *database > max_database) return wrong("the database is not a number");
        address.database = static_cast<std::uint32_t>(*database);
        rest = rest.substr(0, slash);
    }
    if (const auto read = read_place(rest, address); !read) return read.error();
    return address;
}

std::string default_redis(std::string_view given) {
    if (!given.empty()) return std::string(given);
    const char* const set = std::getenv("HOLDFAST_REDIS");
    return set != nullptr && *set != '\0' ? set : RedisAddress{}.shown();
}

}  // namespace holdfast::codec::resp
