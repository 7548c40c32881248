#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/server_address.h"

namespace holdfast {

/// Servers that grant the same leases, such as the nodes of a cluster, and the one to ask: the first until it fails,
/// then the next, and after the last the first again. A server that works stays selected. The connections of one client
/// share this list, so that one failure moves all of them on. May be used from any thread.
class ServerList {
 public:
    /// REQUIRES: parse_servers() (http_connection.h) accepted them.
    explicit ServerList(std::string_view servers) : servers_(split_servers(servers)) {}

    std::size_t size() const { return servers_.size(); }
    const std::string& at(std::size_t place) const { return servers_[place]; }
    /// The index of the server to ask.
    std::size_t current() const { return current_; }

    /// The server at this index failed. If it is still selected, selects the next.
    void pass_over(std::size_t place) { current_.compare_exchange_strong(place, (place + 1) % size()); }

 private:
    const std::vector<std::string> servers_;
    std::atomic<std::size_t> current_ = 0;
};

}  // namespace holdfast
