#include "auth/certificate_pattern.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "auth/limits.h"
#include "base/code.h"

namespace holdfast::auth {
namespace {

constexpr std::string_view scheme_end = "://";
constexpr std::string_view all_below = "/*";
constexpr std::string_view any_label = "*.";
constexpr std::size_t max_uri_segments = 32;  // each costs a lookup

bool is_lower_case_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_in_scheme(char c) {
    return is_lower_case_or_digit(c) || c == '+' || c == '.' || c == '-';
}

bool is_in_host(char c) {
    return is_lower_case_or_digit(c) || c == '.' || c == '-' || c == '_' || c == ':';
}

bool is_in_segment(char c) {
    return is_in_host(c) || (c >= 'A' && c <= 'Z') || c == '~' || c == '@' || c == '+' || c == '=';
}

template <class IsIn>
bool consists_of(std::string_view text, const IsIn& is_in) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_in);
}

bool is_segment(std::string_view text) {
    return text != "." && text != ".." && consists_of(text, is_in_segment);
}

/// Where the path begins, or the end of the text; nullopt if it is not a URI in plain form.
std::optional<std::size_t> path_of_plain_uri(std::string_view uri) {
    const std::size_t host = uri.find(scheme_end);
    if (uri.size() > limits::certificate_pattern_bytes || host == std::string_view::npos) return std::nullopt;
    const std::size_t from = host + scheme_end.size();
    const std::size_t path = std::min(uri.find('/', from), uri.size());
    if (!consists_of(uri.substr(0, host), is_in_scheme) || !consists_of(uri.substr(from, path - from), is_in_host))
        return std::nullopt;
    std::size_t segments = 0;
    for (std::size_t slash = path; slash < uri.size(); ++segments) {
        const std::size_t next = std::min(uri.find('/', slash + 1), uri.size());
        if (segments == max_uri_segments || !is_segment(uri.substr(slash + 1, next - slash - 1))) return std::nullopt;
        slash = next;
    }
    return path;
}

bool is_plain_dns_name(std::string_view name) {
    if (name.size() > limits::certificate_pattern_bytes) return false;
    while (true) {
        const std::size_t dot = name.find('.');
        const std::string_view label = name.substr(0, dot);
        if (!consists_of(label, [](char c) { return c != ':' && is_in_host(c); })) return false;
        if (dot == std::string_view::npos) return true;
        name.remove_prefix(dot + 1);
    }
}

/// As DNS compares them.
std::string lower_case(std::string_view name) {
    std::string lower(name);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

Error invalid_pattern(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

}  // namespace

Result<std::string> checked_certificate_pattern(std::string_view pattern) {
    if (pattern.find(scheme_end) != std::string_view::npos) {
        const std::string_view uri =
            pattern.ends_with(all_below) ? pattern.substr(0, pattern.size() - all_below.size()) : pattern;
        if (path_of_plain_uri(uri)) return std::string(pattern);
        return invalid_pattern(
            fmt::format("a pattern of URIs is a URI, such as spiffe://prod/worker/7, or all below one, such as "
                        "spiffe://prod/worker/*; without a query, '%', '//' or '..', scheme and host in lower case, at "
                        "most {} bytes",
                        limits::certificate_pattern_bytes));
    }
    std::string name = lower_case(pattern);
    const std::string_view text = name;
    if (is_plain_dns_name(text.starts_with(any_label) ? text.substr(any_label.size()) : text)) return name;
    return invalid_pattern(
        "a pattern of DNS names is a name, such as worker-7.example.com, or *. and a name, for one more label");
}

std::vector<std::string> patterns_for_uri(std::string_view uri) {
    const auto path = path_of_plain_uri(uri);
    if (!path) return {};
    std::vector<std::string> patterns{std::string(uri)};
    for (std::size_t slash = uri.rfind('/'); slash >= *path && slash < uri.size(); slash = uri.rfind('/', slash - 1))
        patterns.push_back(std::string(uri.substr(0, slash)).append(all_below));
    return patterns;
}

std::vector<std::string> patterns_for_dns_name(std::string_view name) {
    const std::string lower = lower_case(name);
    if (!is_plain_dns_name(lower)) return {};
    std::vector<std::string> patterns{lower};
    if (const std::size_t dot = lower.find('.'); dot != std::string::npos)
        patterns.push_back(std::string(any_label).append(lower.substr(dot + 1)));
    return patterns;
}

}  // namespace holdfast::auth
