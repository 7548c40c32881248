#include <fmt/format.h>

#include "base/text.h"
#include "store/etcd/etcd_engine.h"

namespace holdfast::store::etcd {
namespace {

constexpr std::string_view default_port = "2379";
constexpr std::size_t max_members = 16;
constexpr std::size_t max_prefix_bytes = 128;

Error invalid(std::string message) {
    return {Code::invalid_argument, "--store: " + std::move(message)};
}

Result<std::string> parse_member(std::string_view text) {
    std::string_view host = text, port = default_port;
    const std::size_t colon = text.rfind(':');
    if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
    const auto number = parse_number(port);
    if (host.empty() || host.find_first_of(" @?#") != std::string_view::npos || has_control_characters(host))
        return invalid(fmt::format("'{}' is not the address of a member of etcd: HOST:PORT", text));
    if (!number || *number == 0 || *number > 65535) return invalid(fmt::format("'{}' is not a port", port));
    return fmt::format("{}:{}", host, *number);
}

Result<void> parse_credentials(std::string_view text, EtcdEngineOptions& options) {
    const std::size_t colon = text.find(':');
    const auto user = percent_decode(text.substr(0, colon));
    const auto password =
        colon == std::string_view::npos ? std::string() : percent_decode(text.substr(colon + 1)).value_or("");
    if (!user || user->empty() || password.empty())
        return invalid("of etcd://USER:PASSWORD@… neither may be empty, and special characters are written as %XX");
    options.user = *user;
    options.password = password;
    return {};
}

Result<void> parse_prefix(std::string_view text, EtcdEngineOptions& options) {
    while (text.ends_with('/'))
        text.remove_suffix(1);
    if (text.empty()) return {};
    const auto prefix = percent_decode(text);
    if (!prefix || prefix->size() > max_prefix_bytes || !is_utf8(*prefix) || has_control_characters(*prefix))
        return invalid("the prefix of keys in etcd is text of at most 128 bytes");
    options.prefix = *prefix;
    return {};
}

}  // namespace

Result<EtcdEngineOptions> parse_etcd_engine(std::string_view url) {
    constexpr std::string_view scheme = "etcd://";
    if (url.starts_with("https://") || url.starts_with("etcds://"))
        return invalid("etcd is spoken to in cleartext only: etcd://HOST:PORT, not https");
    if (!url.starts_with(scheme)) return invalid("an etcd is named as etcd://HOST:PORT");
    url.remove_prefix(scheme.size());
    EtcdEngineOptions options;
    const std::size_t at = url.substr(0, url.find('/')).rfind('@');
    if (at != std::string_view::npos) {
        if (auto parsed = parse_credentials(url.substr(0, at), options); !parsed) return parsed.error();
        url.remove_prefix(at + 1);
    }
    if (url.find_first_of("?#") != std::string_view::npos)
        return invalid("an etcd:// address has no options after '?' or '#'");
    const std::size_t slash = url.find('/');
    if (slash != std::string_view::npos)
        if (auto parsed = parse_prefix(url.substr(slash + 1), options); !parsed) return parsed.error();
    std::string_view members = url.substr(0, slash);
    while (true) {
        const std::size_t comma = members.find(',');
        auto member = parse_member(members.substr(0, comma));
        if (!member) return member.error();
        options.members.push_back(std::move(*member));
        if (options.members.size() > max_members) return invalid("more than 16 members of etcd");
        if (comma == std::string_view::npos) return options;
        members.remove_prefix(comma + 1);
    }
}

}  // namespace holdfast::store::etcd
