#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/cluster_settings.h"
#include "server/home.h"
#include "server/logger.h"
#include "statefile/state_db.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// The home of a server that has a state directory: a standalone server with its leases in its own memory, or a member
/// of a cluster.
struct LocalHomeParts {
    boost::asio::io_context& loop;
    const std::optional<ClusterSettings>& cluster;  ///< empty: standalone
    Logger& log;
    statefile::StateDb& db;
    std::string log_file;  ///< of the replicated log, beside the state
    Instant started_at;
    std::function<void()> tick;  ///< called after each callback from the disk
};
Result<std::unique_ptr<Home>> make_local_home(LocalHomeParts parts);

}  // namespace holdfast::server
