#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/redis/greeting.h"
#include "store/redis/link.h"
#include "store/redis/redis_engine.h"
#include "store/redis/slots.h"

namespace holdfast::store::redis {

/// A connected Redis.
struct Node {
    Place place;
    Facts facts;
    std::shared_ptr<Link> link;
    bool is_ready = false;
};

/// The connections to the Redis that has the keys: one for commands and one for notices, always opened and closed
/// together. In a cluster it is the master of the slot of all keys. Redirections are not followed: if the slot has
/// moved, another server has taken over, and reconnecting makes that visible.
class Nodes : public std::enable_shared_from_this<Nodes> {
 public:
    struct Hooks {
        std::function<void()> on_up;           ///< before the listener is notified
        std::function<void()> before_sending;  ///< may add commands to this turn's write
        std::function<void()> on_closed;       ///< commands that are still queued will never be sent
    };
    Nodes(boost::asio::io_context& loop, RedisEngineOptions options, std::string channel, Hooks hooks);

    void start(cas::EngineListener& listener);
    void stop();

    bool is_up() const { return state_ == State::up; }
    /// REQUIRES: !is_up().
    const Error& why_down() const { return why_down_; }

    /// The Redis that has the keys. REQUIRES: is_up(), or one of its replies is being delivered.
    Node& master() { return *master_; }
    /// Changes when another process has the keys.
    std::uint64_t life() const { return life_; }
    bool in_cluster() const { return in_cluster_; }
    /// The last known version, also while it is unreachable.
    const std::string& version() const { return version_; }
    Duration round_trip() const { return is_up() ? master_->link->round_trip() : Duration{0}; }

    /// Takes the time from the reply that is being delivered.
    void observe(const Node& node, Micros said);
    /// An upper bound of the clock of Redis at `now` on this machine, unless one of them stepped since the last reply.
    EngineTime clock_at_most(Instant now) const { return EngineTime{now.time_since_epoch() + clock_ahead_}; }

 private:
    enum class State : std::uint8_t { stopped, waiting, connecting, up };
    using NodePointer = std::shared_ptr<Node>;
    using Greeted = std::function<void(const NodePointer&)>;

    Link::Parts link_parts(const Place& place);
    void connect();
    void greet(const Place& place, Greeted greeted);
    void greeting_answered(const NodePointer& node, const std::vector<codec::resp::Value>& answers,
                           const Greeted& greeted);
    void end_earlier_life(const NodePointer& node, const Greeted& greeted);
    void seed_greeted(const NodePointer& seed);
    void slots_answered(const NodePointer& seed, const codec::resp::Value& answer);
    void take_master(const NodePointer& node);
    void subscribe();
    void message(const codec::resp::Value& value);
    void up();
    void down(const Error& why);
    void close_all(const Error& why);
    void wait_and_connect();
    void tick();
    void ask_for_time();
    void ask_for_info();
    std::string why_unusable(std::string_view info) const;
    cas::EngineHello read_hello();
    void refused(const NodePointer& node, Link::Refused refused);

    boost::asio::io_context& loop_;
    const RedisEngineOptions options_;
    const std::string channel_;
    Hooks hooks_;
    cas::EngineListener* listener_ = nullptr;
    Random random_;
    boost::asio::steady_timer timer_, ticker_;

    State state_ = State::stopped;
    bool told_down_ = false;
    std::uint64_t attempt_ = 0;  // callbacks of earlier attempts are ignored
    unsigned failures_ = 0;      // since it was last up for a while
    Error why_down_;
    std::vector<Place> seeds_;
    std::map<std::string, std::int64_t> clients_;  // by run_id: this front's client id there

    bool in_cluster_ = false;
    bool has_evicted_ = false;  // while it was up; not yet reported to the listener
    std::uint64_t life_ = 0;
    Duration clock_ahead_{};  // of Redis, at most, by its last reply
    std::string version_;
    NodePointer greeted_;  // the node being greeted, or greeted last
    NodePointer master_;   // the latest one; kept until it is replaced
    std::shared_ptr<Link> subscription_;
};

}  // namespace holdfast::store::redis
