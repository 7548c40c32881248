#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <chrono>

#include "base/time.h"

namespace holdfast::net {

/// A connection that can stand in a RunQueue. Its destruction takes it out of the queue.
class Runnable : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    template <class Connection>
    friend class RunQueue;

    std::chrono::steady_clock::time_point owes_until_{};  // until then its share of the time is used up
};

/// The connections of a door that have work to do, and how long each may run, so that no client can hold the loop.
///
/// In a turn they run one after the other, each for a time slice, until none is left or the turn is over; the rest run
/// in the next turn, after the other handlers of the loop. A connection that runs for more than a hundredth of the time
/// counts as busy: for each millisecond that it ran, it owes a tenth of a second. Busy connections run after all
/// others, but at least one in every turn. So a client with an occasional request waits for the slice under way, not
/// for a round of all clients that send as much as they can.
///
/// The budget is time, not a number of requests or bytes, since it must hold whatever a request costs.
///
/// `Connection` is a Runnable. For one thread.
template <class Connection>
class RunQueue {
 public:
    using Clock = std::chrono::steady_clock;
    struct Limits {
        Duration slice = 250us;
        Duration turn = 2ms;
        int shares = 100;         ///< each connection's share of the time is one of these
        Duration credit = 300ms;  ///< one that owes more is busy
        Duration max_owed = 10s;
    };

    RunQueue() : RunQueue(Limits{}) {}
    explicit RunQueue(Limits limits, Clock::time_point (*clock)() = &Clock::now) : limits_(limits), clock_(clock) {}

    /// Does nothing if the connection stands in the queue already.
    void add(Runnable& connection) {
        if (connection.is_linked()) return;
        (is_busy(connection) ? busy_ : usual_).push_back(connection);
    }
    bool is_empty() const { return usual_.empty() && busy_.empty(); }

    void begin_turn() {
        now_ = clock_();
        turn_ends_ = now_ + limits_.turn;
        busy_ran_ = false;
    }

    /// Takes the connection that is to run now out of the queue, and begins its slice. Null if the turn is over. done()
    /// must follow.
    Connection* next() {
        const bool over = now_ >= turn_ends_;
        slice_begins_ = now_;
        if (!over && !usual_.empty()) return &first_of(usual_);
        if (busy_.empty() || (over && busy_ran_)) return nullptr;
        busy_ran_ = true;
        return &first_of(busy_);
    }

    /// For the connection that runs: whether it has to leave the rest of its work to its next slice. If so, it adds
    /// itself to the queue. Reads the clock.
    bool is_slice_over() const { return clock_() - slice_begins_ >= limits_.slice; }

    /// The connection has run. REQUIRES: it was not destroyed meanwhile.
    void done(Runnable& connection) {
        now_ = clock_();
        const auto owed = std::max(connection.owes_until_, now_) + limits_.shares * (now_ - slice_begins_);
        connection.owes_until_ = std::min(owed, now_ + limits_.max_owed);
        if (!connection.is_linked() || !is_busy(connection)) return;
        connection.unlink();
        busy_.push_back(connection);
    }

 private:
    using List = boost::intrusive::list<Runnable, boost::intrusive::constant_time_size<false>>;

    bool is_busy(const Runnable& connection) const { return connection.owes_until_ - now_ > limits_.credit; }

    static Connection& first_of(List& list) {
        Runnable& first = list.front();
        list.pop_front();
        return static_cast<Connection&>(first);
    }

    const Limits limits_;
    Clock::time_point (*const clock_)();
    List usual_, busy_;
    Clock::time_point now_{}, turn_ends_{}, slice_begins_{};
    bool busy_ran_ = false;
};

}  // namespace holdfast::net
