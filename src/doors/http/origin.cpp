#include "doors/http/origin.h"

#include <algorithm>
#include <string_view>

#include "doors/http/fields.h"

namespace holdfast::http {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

/// The host without its port, and an IPv6 address with its brackets.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
    return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
    if (host.starts_with('[')) return true;
    return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_local_name(std::string_view host) {
    return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

std::string origin_problem(const Request& request, bool listens_on_loopback) {
    const std::string host = lower(request.host);
    const std::string_view name = without_port(host);
    if (listens_on_loopback && !name.empty() && !is_address(name) && !is_local_name(name))
        return "this server listens on loopback and answers to addresses and localhost only, not to the name " +
               shown(request.host);
    if (!request.has_origin) return {};
    const std::string origin = lower(request.origin);
    const std::size_t scheme = origin.find("://");
    if (scheme != std::string::npos && origin.substr(scheme + 3) == host) return {};
    return "a page of another origin may not call this server: " + shown(request.origin);
}

}  // namespace holdfast::http
