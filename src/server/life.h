#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/cluster_settings.h"
#include "server/log.h"
#include "server/server.h"
#include "store/state/state_db.h"

namespace holdfast {

/// One life of a server, from the state it found to the state it leaves.
class Life {
 public:
    struct Parts {
        const ServeOptions& options;
        const std::optional<ClusterSettings>& cluster;  ///< none: it is alone
        Log& log;
        StateDb& db;
        std::string log_file;  ///< of the replicated log, beside the state
        Instant started_at;
    };
    explicit Life(Parts parts);
    ~Life();

    /// Serves until a signal. Returns the exit code.
    int run();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
