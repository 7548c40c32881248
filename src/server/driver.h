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

    /// Encloses everything that happens at one time: a door's requests, a peer's messages, a completed disk write.
    /// turn_begins() reads the clock once for all of it (T6). turn_ends() grants waiters that it has unblocked, and
    /// determines when the next work is due.
    void turn_begins();
    void turn_ends();

    /// From now on nothing runs outside of turns.
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::server
