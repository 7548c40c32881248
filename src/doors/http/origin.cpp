#include "doors/http/origin.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace holdfast::doors::http {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view name_characters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

bool consists_of(std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// The host of a Host field: without port, without the trailing dot of a fully qualified name, and with the brackets of
/// an IPv6 address. Empty if the field is not HOST or HOST:PORT, for example if it has a user.
std::optional<std::string_view> host_of(std::string_view field) {
    const bool bracketed = field.starts_with('[');
    const std::size_t end = bracketed ? field.find(']') : std::min(field.find(':'), field.size());
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view host = field.substr(0, bracketed ? end + 1 : end);
    const std::string_view port = field.substr(host.size());
    if (!port.empty() && port != ":" && (port.front() != ':' || !consists_of(port.substr(1), digits)))
        return std::nullopt;
    if (bracketed) return host;
    if (host.ends_with('.')) host.remove_suffix(1);
    return consists_of(host, name_characters) ? std::optional(host) : std::nullopt;
}

bool is_address_of(int family, std::string_view text) {
    std::array<char, INET6_ADDRSTRLEN> room{};
    if (text.size() >= room.size()) return false;
    std::copy(text.begin(), text.end(), room.begin());
    std::array<char, sizeof(in6_addr)> parsed;
    return ::inet_pton(family, room.data(), parsed.data()) == 1;
}

/// Whether this is the zone of an IPv6 address, which a URL writes after `%25`.
bool is_zone(std::string_view text) {
    if (text.starts_with("25")) text.remove_prefix(2);
    return consists_of(text, name_characters);
}

bool is_address(std::string_view host) {
    if (!host.starts_with('[')) return is_address_of(AF_INET, host);
    host = host.substr(1, host.size() - 2);
    const std::size_t zone = std::min(host.find('%'), host.size());
    if (zone < host.size() && !is_zone(host.substr(zone + 1))) return false;
    return is_address_of(AF_INET6, host.substr(0, zone));
}

bool is_local_name(std::string_view host) {
    return host == "localhost" || host.ends_with(".localhost");
}

std::string host_problem(const Request& request, std::string_view field, const std::vector<std::string>& names) {
    if (field.empty() && request.http_1_0) return {};
    const auto host = host_of(field);
    if (!host) return "the header Host is not HOST or HOST:PORT: " + excerpt(request.host);
    if (is_address(*host) || is_local_name(*host) || std::find(names.begin(), names.end(), *host) != names.end())
        return {};
    return fmt::format(
        "this server does not answer to the name {}: call it by its address or as localhost, or start it with "
        "--allow-host for that name",
        excerpt(*host));
}

}  // namespace

std::string origin_problem(const Request& request, const std::vector<std::string>& names) {
    const std::string host = lower(request.host);
    if (std::string problem = host_problem(request, host, names); !problem.empty()) return problem;
    if (request.has_fetch_site && request.fetch_site != "same-origin" && request.fetch_site != "none")
        return fmt::format("a page of another site may not call this server (Sec-Fetch-Site: {})",
                           excerpt(request.fetch_site));
    if (!request.has_origin) return {};
    const std::string origin = lower(request.origin);
    const std::size_t scheme = origin.find("://");
    if (scheme != std::string::npos && origin.substr(scheme + 3) == host) return {};
    return "a page of another origin may not call this server: " + excerpt(request.origin);
}

}  // namespace holdfast::doors::http
