#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/alive.h"
#include "net/poller.h"
#include "net/run_queue.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::net {

class Connection;

/// Hooks around a door's turn. `begins` reads the clock once for everything received together (T6); `ends` looks up
/// what is due next.
struct DoorTurn {
    std::function<void()> begins = [] {};
    std::function<void()> ends = [] {};
};

/// The turns of a door, at most one in each round of the loop.
///
/// A turn receives from all connections that the poller found ready. Then it begins, by the door's hook: after the last
/// byte was received, so that no grant is dated before its request (T3). Then it runs those that were ready, those that
/// the last turn left and those that were woken, for a bounded time (run_queue.h).
///
/// A connection must exist until the end of the turn in which it is closed: its owner passes it to keep().
class Turns {
 public:
    using Clock = std::chrono::steady_clock;

    /// `after_each` is called when all have run: it returns true if the door has more to do in another turn.
    Turns(boost::asio::io_context& loop, DoorTurn turn, std::function<bool()> after_each);

    void start();
    /// No connection runs after this.
    void stop();

    Poller& poller() { return poller_; }
    const RunQueue<Connection>& queue() const { return queue_; }
    /// When the turn began.
    Clock::time_point now() const { return now_; }

    /// The connection runs, in this turn if there is one.
    void wake(Runnable& connection) {
        queue_.add(connection);
        soon();
    }

    /// There will be a turn.
    void soon() {
        if (!in_turn_ && !posted_ && !stopped_) post();
    }

    /// Keeps a connection that was closed until the end of a turn.
    void keep(std::shared_ptr<void> closed) {
        kept_.push_back(std::move(closed));
        soon();
    }

    /// For what a door does outside its turns, by a timer: as in a turn, the clock is read before.
    template <class Do>
    void between(Do run) {
        now_ = Clock::now();
        turn_.begins();
        run();
        turn_.ends();
    }

    /// Reads the clock again in a long turn (T2).
    void read_clock() { turn_.begins(); }

 private:
    void post();
    void take();
    void run();

    boost::asio::io_context& loop_;
    const DoorTurn turn_;
    const std::function<bool()> after_each_;
    Poller poller_;
    RunQueue<Connection> queue_;
    std::vector<std::shared_ptr<void>> kept_;
    Clock::time_point now_ = Clock::now();
    bool in_turn_ = false, posted_ = false, stopped_ = false;
    Alive alive_;
};

}  // namespace holdfast::net
