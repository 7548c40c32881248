#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/quorum/ballot.h"

namespace holdfast::peer {

inline constexpr std::string_view default_port = "7402";
inline constexpr std::size_t max_id_bytes = 64;

struct Member {
    std::string id;
    std::string address;  ///< HOST:PORT

    bool operator==(const Member&) const = default;
};

/// The members of a cluster in the order of their ids, which gives each its index, and which of them this node is.
struct Members {
    std::vector<Member> all;
    core::NodeIndex self = 0;

    const Member& own() const { return all[self]; }
    std::vector<std::string> ids() const;
};

/// Reads `ID=HOST:PORT,ID=HOST:PORT,…` as --peers gives it, and the ID that --node gives. Without a port it is 7402;
/// an IPv6 address stands in brackets. 1, 3, 5 or 7 members with different ids of a-z, 0-9 and `-`, and different
/// addresses. Error `invalid_argument` says what to mend.
Result<Members> parse_members(std::string_view peers, std::string_view node);

/// HOST:PORT in its parts, the brackets of an IPv6 address taken off. Error `invalid_argument`.
struct HostPort {
    std::string host;
    std::string port;
};
Result<HostPort> split_address(std::string_view address);

}  // namespace holdfast::peer
