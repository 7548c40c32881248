#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/quorum/ballot.h"

namespace holdfast::doors::peer {

inline constexpr std::string_view default_port = "7402";
inline constexpr std::size_t max_id_bytes = 64;

struct Member {
    std::string id;
    std::string address;  ///< HOST:PORT

    bool operator==(const Member&) const = default;
};

/// The members of a cluster, sorted by id. A member's position is its index; `self` is this node's.
struct Members {
    std::vector<Member> all;
    store::quorum::NodeIndex self = 0;

    const Member& own() const { return all[self]; }
    std::vector<std::string> ids() const;
};

/// Parses `ID=HOST:PORT,ID=HOST:PORT,…` from --peers and the ID from --node. The port defaults to 7402. An IPv6 address
/// is written in brackets. There must be 1, 3, 5 or 7 members with distinct ids (a-z, 0-9 and `-`) and distinct
/// addresses. Error `invalid_argument` says what to correct.
Result<Members> parse_members(std::string_view peers, std::string_view node);

/// The parts of HOST:PORT, without the brackets of an IPv6 address. Error `invalid_argument`.
struct HostPort {
    std::string host;
    std::string port;
};
Result<HostPort> split_address(std::string_view address);

}  // namespace holdfast::doors::peer
