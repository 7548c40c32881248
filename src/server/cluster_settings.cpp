#include "server/cluster_settings.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "doors/peer/cluster_secret.h"

namespace holdfast::server {
namespace {

constexpr Duration longest_ttl_least = 1s;
constexpr double max_rho = 0.2;

Error invalid(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

}  // namespace

store::quorum::QuorumConfig ClusterSettings::config(store::quorum::BootNumber boot) const {
    return {.node = members.self,
            .members = static_cast<std::uint8_t>(members.all.size()),
            .boot = boot,
            .longest_ttl = longest_ttl,
            .rho = rho};
}

statefile::StateOwner ClusterSettings::owner() const {
    statefile::StateOwner owner{.node = members.own().id, .members = {}, .longest_ttl = longest_ttl};
    for (const std::string& id : members.ids())
        owner.members += (owner.members.empty() ? "" : ",") + id;
    return owner;
}

void ClusterSettings::fit(lease::Policy& policy) const {
    policy.cap_ttls(longest_ttl);
}

Result<void> ClusterSettings::check(const lease::Policy& policy) const {
    if (policy.longest_ttl() <= longest_ttl) return {};
    return Error{Code::invalid_policy,
                 fmt::format("ttl_max_ms would be {}, but no member of this cluster grants a lease for longer "
                             "than its --longest-ttl, which is {}",
                             format_duration(policy.longest_ttl()), format_duration(longest_ttl))};
}

Result<std::optional<ClusterSettings>> read_cluster_settings(const ServeOptions& options) {
    if (options.node.empty() && options.peers.empty()) {
        if (options.peer.empty()) return std::optional<ClusterSettings>{};
        return invalid("--peer is for a node of a cluster; say --node and --peers too");
    }
    if (options.node.empty()) return invalid("--peers names a cluster; say with --node ID which of them this is");
    if (options.peers.empty())
        return invalid("--node is for a node of a cluster; name all its members with --peers ID=HOST:PORT,...");
    auto members = doors::peer::parse_members(options.peers, options.node);
    if (!members) return members.error();
    ClusterSettings settings{.members = std::move(*members),
                             .listen = options.peer,
                             .secret = {},
                             .longest_ttl = options.longest_ttl,
                             .rho = options.rho};
    if (settings.listen.empty()) settings.listen = settings.members.own().address;
    if (const auto split = doors::peer::split_address(settings.listen); !split) return split.error();
    if (settings.longest_ttl < longest_ttl_least || settings.longest_ttl > lease::limits::ttl_ceiling)
        return invalid("--longest-ttl must lie between a second and a day");
    if (!(settings.rho >= 0 && settings.rho <= max_rho)) return invalid("--rho must lie between 0 and 0.2");
    auto secret = doors::peer::read_cluster_secret(options.cluster_secret_file);
    if (!secret) return secret.error();
    settings.secret = std::move(*secret);
    return std::optional(std::move(settings));
}

}  // namespace holdfast::server
