#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/server_address.h"

namespace holdfast {

/// Servers that give out the same leases, such as the nodes of a cluster, and which of them is asked: the first, until
/// it fails; then the next, and after the last the first again. The one that works is kept to. What the connections of
/// one client share, so that one failure is enough; may be used from any thread.
class ServerList {
 public:
    /// REQUIRES: parse_servers() (http_connection.h) accepted them.
    explicit ServerList(std::string_view servers) : servers_(split_servers(servers)) {}

    std::size_t size() const { return servers_.size(); }
    const std::string& at(std::size_t place) const { return servers_[place]; }
    /// The place of the one to ask.
    std::size_t current() const { return current_; }

    /// The server at this place did not serve. If it is still the one to ask, the next one is from now on.
    void pass_over(std::size_t place) { current_.compare_exchange_strong(place, (place + 1) % size()); }

 private:
    const std::vector<std::string> servers_;
    std::atomic<std::size_t> current_ = 0;
};

}  // namespace holdfast
