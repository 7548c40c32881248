#include "doors/peer/members.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace holdfast::doors::peer {
namespace {

Error invalid(std::string message) {
    return Error{Code::invalid_argument, std::move(message)};
}

bool is_id(std::string_view id) {
    const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !id.empty() && id.size() <= max_id_bytes && std::all_of(id.begin(), id.end(), allowed);
}

std::string with_port(std::string_view address) {
    const bool brackets = address.ends_with(']');
    const bool has_port = !brackets && address.find(':') != std::string_view::npos;
    std::string whole(address);
    if (!has_port) whole.append(":").append(default_port);
    return whole;
}

Result<Member> parse_member(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos)
        return invalid(fmt::format("--peers: '{}' is not ID=HOST:PORT, for example a=10.0.0.1:7402", text));
    const std::string_view id = text.substr(0, equals);
    if (!is_id(id))
        return invalid(
            fmt::format("--peers: '{}' is not the id of a node; use 1 to {} of a-z, 0-9 and '-'", id, max_id_bytes));
    const std::string address = with_port(text.substr(equals + 1));
    const auto split = split_address(address);
    if (!split || split->port == "0")
        return invalid(fmt::format(
            "--peers: '{}' is not an address for node {}; write HOST:PORT, with an IPv6 address in brackets",
            text.substr(equals + 1), id));
    return Member{std::string(id), address};
}

Result<void> check_all(const std::vector<Member>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = i + 1; j < all.size(); ++j) {
            if (all[i].id == all[j].id) return invalid(fmt::format("--peers: the id '{}' is repeated", all[i].id));
            if (all[i].address == all[j].address)
                return invalid(
                    fmt::format("--peers: {} and {} have the same address {}", all[i].id, all[j].id, all[i].address));
        }
    }
    const std::size_t count = all.size();
    if (count == 1 || count == 3 || count == 5 || count == 7) return {};
    return invalid(fmt::format(
        "--peers names {} members; a cluster has 1, 3, 5 or 7, an odd number, so that it has a majority", count));
}

}  // namespace

std::vector<std::string> Members::ids() const {
    std::vector<std::string> ids;
    for (const Member& member : all)
        ids.push_back(member.id);
    return ids;
}

Result<HostPort> split_address(std::string_view address) {
    const Error malformed = invalid(fmt::format("'{}' is not HOST:PORT", address));
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return malformed;
    std::string_view host = address.substr(0, colon);
    const auto port = parse_number(address.substr(colon + 1));
    if (!port || *port > 65535) return malformed;
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
        return malformed;
    if (host.empty() || host.find_first_of(" \t/@[]") != std::string_view::npos || has_control_characters(host))
        return malformed;
    return HostPort{std::string(host), std::to_string(*port)};
}

Result<Members> parse_members(std::string_view peers, std::string_view node) {
    Members members;
    for (std::size_t begin = 0; begin <= peers.size();) {
        const std::size_t comma = std::min(peers.find(',', begin), peers.size());
        auto member = parse_member(peers.substr(begin, comma - begin));
        if (!member) return member.error();
        members.all.push_back(std::move(*member));
        begin = comma + 1;
    }
    if (auto checked = check_all(members.all); !checked) return checked.error();
    std::sort(members.all.begin(), members.all.end(), [](const Member& a, const Member& b) { return a.id < b.id; });
    const auto own =
        std::find_if(members.all.begin(), members.all.end(), [&](const Member& member) { return member.id == node; });
    if (own == members.all.end()) {
        std::string known;
        for (const Member& member : members.all)
            known += (known.empty() ? "" : ", ") + member.id;
        return invalid(fmt::format("--node '{}' is not among the members that --peers names: {}", node, known));
    }
    members.self = static_cast<store::quorum::NodeIndex>(own - members.all.begin());
    return members;
}

}  // namespace holdfast::doors::peer
