#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/postgres/call.h"
#include "store/postgres/connection.h"

namespace holdfast::postgres {

/// The connections to a server: one that listens, and some that carry calls. Connects them again when they break.
/// A call is answered once: with rows that are committed, or with the error `store_unavailable`.
///
/// *Sick servers.* Where a call fails or is not answered in time, each connection has to show by a write that it can do
/// so before it carries more calls, and likewise each new one. If none can, the engine cannot be reached, and one at a
/// time tries again, with pauses. What a connection that does not answer waits for is asked by the one that listens,
/// which also ends the process at its other end: a commit that waits for a standby would go on doing so, and others
/// with it, until no more connections are left. So such a commit takes effect soon after its call has failed, or never.
class Pool final : Connection::Owner {
 public:
    /// Told from the loop, never from within a call.
    class Owner {
     public:
        virtual ~Owner() = default;
        /// All connections that are open are to the server that says this.
        virtual void on_reachable(const Hello& hello) = 0;
        virtual void on_unreachable(const std::string& why) = 0;
        virtual void on_payload(std::string_view payload) = 0;
    };
    struct Settings {
        Connection::Settings connection;
        std::size_t connections = 4;
        std::size_t max_calls = 100'000;
        std::size_t max_bytes = 64 * 1024 * 1024;
    };

    Pool(boost::asio::io_context& loop, Owner& owner, Settings settings);
    ~Pool() override;

    void start();
    /// Everything under way is answered with the error, now.
    void stop();

    /// Goes out with the other calls of this turn.
    void call(CallPtr call);
    /// Calls that go out now, by the connection that listens, in one transaction. False if there is none.
    bool call_by_listener(std::vector<CallPtr> calls);

    bool reachable() const { return told_ == Told::reachable; }
    const std::string& why_not() const { return why_not_; }
    std::size_t open() const;
    Duration round_trip() const { return round_trip_; }

 private:
    struct Slot {
        std::shared_ptr<Connection> connection;  ///< from when it begins to connect until it is closed
        std::unique_ptr<boost::asio::steady_timer> timer;
        Duration pause{};
        bool waiting = false;
        bool doubted = false;  ///< it has to show that it can write, before it carries another call
    };
    enum class Told : std::uint8_t { nothing, reachable, unreachable };
    using Queue = std::deque<CallPtr>;

    void on_ready(Connection& connection) override;
    void on_stalled(Connection& connection) override;
    void on_group(Connection& connection, Group group) override;
    void on_notify(std::string_view payload) override;
    void on_closed(Connection& connection, const std::string& why, std::vector<Group> lost) override;

    void connect(Slot& slot);
    void connect_later(Slot& slot);
    void connect_missing();
    bool may_connect(const Slot& slot) const;
    bool works() const;
    Slot* slot_of(const Connection& connection);
    void end(const Backend& backend, std::function<void(const std::string& waits_for)> done);
    void end_left();
    void doubt_all();
    void prove(Slot& slot);
    void tell_reachable();
    void tell_unreachable(const std::string& why);

    void dispatch_soon();
    void dispatch();
    bool send_from(Queue& queue);
    std::shared_ptr<Connection> free_connection(bool group_is_full) const;
    Group take_group(Queue& queue);

    void on_failure(Connection& connection, Group& group);
    void wait_for_no_lock(Call& call) const;
    void again(const CallPtr& call, Duration pause);
    void answer(const CallPtr& call, Result<Rows> result);
    void refuse(const CallPtr& call, const std::string& why);
    void refuse_waiting();
    void watch_time();
    void on_time();

    boost::asio::io_context& loop_;
    Owner& owner_;
    const Settings settings_;
    Connection::Settings listener_settings_;
    boost::asio::steady_timer timer_;
    Random random_;
    std::vector<Slot> slots_;  ///< the first is the one that listens
    Told told_ = Told::nothing;
    std::string why_not_ = "it is not connected yet";
    bool running_ = false;
    bool dispatch_posted_ = false;
    bool timer_runs_ = false;

    Queue looks_, writes_;
    std::vector<Backend> left_;  ///< processes that may still wait for something, whose connections are closed
    Instant doubt_from_;         ///< not before
    std::list<CallPtr> all_;     ///< in the order of their time-outs
    std::size_t bytes_ = 0;
    std::set<std::string, std::less<>> locked_;  ///< rows that somebody had locked for long when they were last tried
    Duration round_trip_{};
    bool looks_are_next_ = true;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holdfast::postgres
