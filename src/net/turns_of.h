#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/alive.h"
#include "net/poller.h"
#include "net/run_queue.h"
#include "net/turns.h"

namespace holdfast::net {

/// The turns of a door, at most one in each round of the loop.
///
/// A turn receives from all connections that the poller found ready. Then it begins, by the door's hook: after the last
/// byte was received, so that no grant is dated before its request (T3). Then it runs those that were ready, those that
/// the last turn left and those that were woken, for a bounded time (run_queue.h).
///
/// `Connection` is a Runnable with `receive(bool hung_up)` and `handle()`. A connection must exist until the end of the
/// turn in which it is closed: its owner passes it to keep().
template <class Connection>
class TurnsOf {
 public:
    using Clock = std::chrono::steady_clock;

    /// `after_each` is called when all have run: it returns true if the door has more to do in another turn.
    TurnsOf(
        boost::asio::io_context& loop, DoorTurn turn, std::function<bool()> after_each = [] { return false; })
        : loop_(loop), turn_(std::move(turn)), after_each_(std::move(after_each)), poller_(loop) {}

    void start() {
        poller_.start([this] {
            if (!posted_) take();  // the next turn serves those that are ready, too
        });
    }
    /// No connection runs after this.
    void stop() {
        stopped_ = true;
        poller_.stop();
        kept_.clear();
    }

    Poller& poller() { return poller_; }
    const RunQueue<Connection>& queue() const { return queue_; }
    /// When the turn began.
    Clock::time_point now() const { return now_; }

    /// The connection runs, in this turn if there is one.
    void wake(Connection& connection) {
        queue_.add(connection);
        soon();
    }

    /// There will be a turn.
    void soon() {
        if (in_turn_ || posted_ || stopped_) return;
        posted_ = true;
        boost::asio::post(loop_, alive_.guard([this] {
            posted_ = false;
            take();
        }));
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
    void take() {
        if (stopped_) return;
        in_turn_ = true;
        now_ = Clock::now();
        const auto ready = poller_.ready();
        for (const Poller::Ready& one : ready)
            if (one.input) static_cast<Connection*>(one.who)->receive(one.broken);
        turn_.begins();
        for (const Poller::Ready& one : ready)
            queue_.add(*static_cast<Connection*>(one.who));
        run();
        const bool more = after_each_();
        turn_.ends();
        in_turn_ = false;
        kept_.clear();
        if (more || !queue_.is_empty()) soon();
    }

    void run() {
        queue_.begin_turn();
        while (Connection* connection = queue_.next()) {
            connection->handle();
            queue_.done(*connection);
        }
    }

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
