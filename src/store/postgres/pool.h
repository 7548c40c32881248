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

namespace holdfast::store::postgres {

/// The connections to a server: one that listens, and some that carry calls. Broken connections are reopened. A call is
/// answered exactly once: with committed rows, or with the error `store_unavailable`.
///
/// *Unhealthy servers.* When a call fails or times out, each connection must prove by a probe write that it can write
/// before it carries more calls; so must each new connection. If none can, the engine is unreachable, and one
/// connection at a time is retried, with backoff. For a stalled connection, the listening connection asks what its
/// server process waits for, and terminates that process. Otherwise a commit that waits for a standby would continue to
/// wait, and more would follow, until no connections are left. So such a commit takes effect soon after its call has
/// failed, or never.
class Pool final : Connection::Owner {
 public:
    /// Called from the loop, never inside a call.
    class Owner {
     public:
        virtual ~Owner() = default;
        /// All open connections are to the server that reported this.
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
    /// Fails everything in flight, immediately.
    void stop();

    /// Sent together with the other calls of this turn.
    void call(CallPtr call);
    /// Sends the calls at once in one transaction on the listening connection. Returns false if that is not available.
    bool call_by_listener(std::vector<CallPtr> calls);

    bool reachable() const { return told_ == Told::reachable; }
    const std::string& why_not() const { return why_not_; }
    std::size_t open() const;
    Duration round_trip() const { return round_trip_; }

 private:
    struct Slot {
        std::shared_ptr<Connection> connection;  ///< from the start of connecting until it is closed
        std::unique_ptr<boost::asio::steady_timer> timer;
        Duration pause{};
        bool waiting = false;
        bool doubted = false;  ///< it must prove that it can write before it carries another call
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
    std::vector<Slot> slots_;  ///< the first one listens
    Told told_ = Told::nothing;
    std::string why_not_ = "it is not connected yet";
    bool running_ = false;
    bool dispatch_posted_ = false;
    bool timer_runs_ = false;

    Queue looks_, writes_;
    std::vector<Backend> left_;  ///< processes of closed connections that may still be waiting
    Instant doubt_from_;         ///< earliest time of the next round of probes
    std::list<CallPtr> all_;     ///< in order of their deadlines
    std::size_t bytes_ = 0;
    std::set<std::string, std::less<>> locked_;  ///< rows that were locked for long when last tried
    Duration round_trip_{};
    bool looks_are_next_ = true;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holdfast::store::postgres
