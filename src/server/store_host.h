#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "doors/http/readiness.h"
#include "server/driver.h"
#include "statefile/state_db.h"
#include "store/store.h"

namespace holdfast {

inline constexpr const char* token_headroom_help = "Tokens that may be granted before the disk has to reserve more";

/// Where a server's leases live: in its own memory, or, if it is a node of a cluster, in that of a majority
/// (cluster.h).
///
/// Its life: restore() what a clean stop kept, start(), stop(), for_each() of what the next life is to take up.
class StoreHost {
 public:
    virtual ~StoreHost() = default;

    virtual core::DrivenStore& store() = 0;

    virtual void restore(std::string_view resource, const core::Record& record,
                         const core::RegisterBallots& ballots) = 0;
    virtual void for_each(const StateDb::TakeUp& save) = 0;
    /// What else the next life must know, and until when this one must not be taken for complete (S1, Q10).
    virtual AcceptorMarks marks() { return {}; }

    /// What it has to do besides the store.
    virtual std::vector<Driven> driven() { return {}; }

    /// The driver is there from now on.
    virtual Result<void> start(Driver&) { return {}; }
    /// Nothing comes from elsewhere any more once it calls done.
    virtual void stop(std::function<void()> done) { done(); }

    /// The answer of GET /v1/quorum; empty if there is no quorum.
    virtual std::string status() { return {}; }
    /// Why nothing can be granted at the moment, if so; and numbers for GET /metrics.
    virtual std::optional<Trouble> trouble() { return std::nullopt; }
    virtual void add_numbers(MetricNumbers&) {}
};

/// The store of a server that is alone.
std::unique_ptr<StoreHost> make_memory_host(core::StoreListener& listener);

}  // namespace holdfast
