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

namespace holdfast {

/// The home of a server that has a state directory: alone, with its leases in its own memory, or as a member of a
/// cluster.
struct LocalHomeParts {
    boost::asio::io_context& loop;
    const std::optional<ClusterSettings>& cluster;  ///< none: it is alone
    Logger& log;
    StateDb& db;
    std::string log_file;  ///< of the replicated log, beside the state
    Instant started_at;
    std::function<void()> tick;  ///< after something came from the disk
};
Result<std::unique_ptr<Home>> make_local_home(LocalHomeParts parts);

}  // namespace holdfast
