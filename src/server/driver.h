#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"

namespace boost::asio {
class io_context;
}
namespace holdfast::core {
class Authority;
class DrivenStore;
}  // namespace holdfast::core

namespace holdfast {

/// Whatever else is told the time, and says when it wants to be told next.
struct Driven {
    std::function<void(Instant now)> advance;
    std::function<Instant()> next_due;
};

/// Tells the store, the authority and others what time it is: before each request, and whenever one of them
/// has something to do. Sweeps in bounded steps, so that a storm of ends never keeps a request waiting for long (T5).
class Driver {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        core::DrivenStore& store;
        core::Authority& authority;
        std::vector<Driven> others = {};
    };
    explicit Driver(Parts parts);
    ~Driver();

    /// Reads the clock, once for all that happens now (T6): before each request, and when something came from
    /// elsewhere.
    void tick();

    /// The same in two parts, for who knows when all that happens now is over: the clock is read at the beginning, and
    /// what is due next is looked up at the end.
    void turn_begins();
    void turn_ends();

    /// A turn for what comes from elsewhere and is no request: waiters whose turn it brings have it before it ends.
    void turn(const std::function<void()>& work);

    /// From now on nothing happens but in tick().
    void stop();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
