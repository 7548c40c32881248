#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "doors/http/readiness.h"
#include "server/driver.h"
#include "statefile/state_db.h"
#include "store/store.h"

namespace holdfast::server {

inline constexpr const char* token_headroom_help = "Tokens that may be granted before the disk has to reserve more";

/// Where a server's leases are kept: in its own memory, or, if it is a node of a cluster, in the memory of a majority
/// (cluster.h).
///
/// Call order: restore() with each record that a clean stop saved, start(), stop(), for_each() to save the records for
/// the next start.
class StoreHost {
 public:
    virtual ~StoreHost() = default;

    virtual store::DrivenStore& store() = 0;

    virtual void restore(std::string_view resource, const lease::Record& record,
                         const store::quorum::RegisterBallots& ballots) = 0;
    virtual void for_each(const statefile::StateDb::TakeUp& save) = 0;
    /// What else to save for the next start (S1, Q10).
    virtual statefile::AcceptorMarks marks() { return {}; }

    /// The components to drive besides the store.
    virtual std::vector<Driven> driven() { return {}; }

    /// The driver may be used from now on.
    virtual Result<void> start(Driver&) { return {}; }
    /// Stops receiving from other nodes. Calls `done` when nothing more will arrive.
    virtual void stop(std::function<void()> done) { done(); }

    /// The response of GET /v1/quorum; empty if there is no quorum.
    virtual std::string status() { return {}; }
    /// Why nothing can be granted at the moment, if anything prevents it, and numbers for GET /metrics.
    virtual std::optional<doors::http::Trouble> trouble() { return std::nullopt; }
    virtual void add_numbers(doors::http::MetricNumbers&) {}
};

}  // namespace holdfast::server
