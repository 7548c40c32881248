#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"

namespace boost::asio {
class io_context;
}
namespace holdfast::authority {
class Authority;
}

namespace holdfast::store {
class DrivenStore;
}

namespace holdfast::server {

/// A component that is driven by time: `advance` passes it the current time, `next_due` says when it next needs a call.
struct Driven {
    std::function<void(Instant now)> advance;
    std::function<Instant()> next_due;
};

/// Passes the current time to the store, the authority and other components: before each request, and whenever one of
/// them has work due. Sweeps in bounded steps, so that many leases expiring at once never delay a request for long
/// (T5).
class Driver {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        store::DrivenStore& store;
        authority::Authority& authority;
        std::vector<Driven> others = {};
    };
    explicit Driver(Parts parts);
    ~Driver();

    /// Reads the clock once for everything that happens now (T6). Call it after an event from elsewhere, such as a
    /// completed disk write.
    void tick();

    /// tick() in two parts, for callers that know when the current batch of work ends: turn_begins() reads the clock,
    /// turn_ends() determines when the next work is due.
    void turn_begins();
    void turn_ends();

    /// turn_ends() for events that are not requests, such as peers' messages: waiters that they unblock are granted
    /// before the turn ends.
    void event_turn_ends();

    /// From now on nothing runs except in tick().
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::server
