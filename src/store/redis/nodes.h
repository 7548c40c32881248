#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/redis/greeting.h"
#include "store/redis/link.h"
#include "store/redis/node_clock.h"
#include "store/redis/redis_engine.h"
#include "store/redis/slots.h"

namespace holdfast::redis_engine {

/// A master of a cluster, or the only Redis there is.
struct Node {
    Place place;
    Facts facts;
    NodeClock clock{NodeClock::Kind::alone};
    std::shared_ptr<Link> link;
    bool is_ready = false;
    std::vector<std::function<void()>> when_ready;  ///< or gone
};

/// The connections to all there is of a Redis: made, lost and made again as one. That it can be reached is told when
/// all are there, and that it cannot when one is lost. In a cluster, keys are found by the map of slots; a command that
/// went to the wrong node is sent on, and the map read again.
class Nodes : public std::enable_shared_from_this<Nodes> {
 public:
    struct Hooks {
        std::function<void()> on_up;                ///< before the listener hears of it
        std::function<void(Node&)> before_sending;  ///< what is to travel with this turn may be added
        std::function<void()> on_clock_step;
        std::function<void()> on_closed;  ///< whatever waits to be sent never is
    };
    Nodes(boost::asio::io_context& loop, RedisEngineOptions options, std::string channel, Hooks hooks);

    void start(core::EngineListener& listener);
    void stop();

    bool is_up() const { return state_ == State::up; }
    /// REQUIRES: !is_up().
    const Error& why_down() const { return why_down_; }

    /// Who has the key; nullptr if nobody does.
    Node* of_key(std::string_view key);
    /// All masters, in an order that stays.
    const std::vector<std::shared_ptr<Node>>& masters() const { return masters_; }
    /// Differs when keys may have moved since, or the engine was restarted.
    std::uint64_t map_version() const { return map_version_; }
    bool in_cluster() const { return in_cluster_; }
    /// What was last known, also while it cannot be reached.
    const core::EngineHello& hello() const { return hello_; }
    const std::string& version() const { return version_; }
    Duration round_trip() const;

    /// While an answer is being told: who gave it. A redirected command may have gone to another than it was made for.
    Node& answering() { return *answering_; }
    /// The engine's time in an answer of this node that is being told, as its clock says it (node_clock.h).
    void observe(Node& node, Micros said, bool passed_on = false);

 private:
    enum class State : std::uint8_t { stopped, waiting, connecting, up };
    using NodePointer = std::shared_ptr<Node>;
    struct Parked {
        Link::Command command;
        std::string bytes;
        std::uint16_t slot = 0;
    };
    using Greeted = std::function<void(const NodePointer&)>;

    Link::Parts link_parts(const Place& place);
    void connect();
    NodePointer greet(const Place& place, Greeted greeted);
    void greeting_answered(const NodePointer& node, const std::vector<resp::Value>& answers, const Greeted& greeted);
    void end_earlier_life(const NodePointer& node, const Greeted& greeted);
    void seed_greeted(const NodePointer& seed);
    void slots_answered(const NodePointer& seed, const Result<resp::Value>& answer);
    void connect_masters(const NodePointer& seed);
    void subscribe();
    void message(const resp::Value& value);
    void up();
    void down(const Error& why);
    void close_all(const Error& why);
    void wait_and_connect();
    void tick();
    core::EngineHello read_hello() const;
    void set_map(SlotMap map);

    // When a command is answered with an error.
    void refused(const NodePointer& node, Link::Refused refused);
    void moved(const NodePointer& node, Link::Refused refused, std::string_view where);
    void ask(const NodePointer& node, Link::Refused refused, std::string_view where);
    void resend(Node& node, Link::Command command, std::string_view bytes);
    void refresh(const NodePointer& asked);
    void refreshed(const NodePointer& asked, const Result<resp::Value>& answer);
    NodePointer find(const Place& place) const;

    boost::asio::io_context& loop_;
    const RedisEngineOptions options_;
    const std::string channel_;
    Hooks hooks_;
    core::EngineListener* listener_ = nullptr;
    Random random_;
    boost::asio::steady_timer timer_, ticker_;

    State state_ = State::stopped;
    bool told_down_ = false;
    std::uint64_t attempt_ = 0;  // whatever belongs to another one is of no interest any more
    unsigned failures_ = 0;
    Error why_down_;
    std::vector<Place> seeds_;
    std::map<std::string, std::int64_t> clients_;  // by run_id: who this front is there

    bool in_cluster_ = false;
    SlotMap map_;
    std::uint64_t map_version_ = 0;
    core::EngineHello hello_;
    std::string version_;
    std::vector<NodePointer> masters_;  // as in map_
    std::vector<NodePointer> others_;   // seeds, and nodes that slots are moving to
    std::size_t missing_ = 0;           // masters that are being greeted
    NodePointer answering_;
    std::shared_ptr<Link> subscription_;
    std::vector<Parked> parked_;  // until the map is read again
    bool refreshing_ = false;
};

}  // namespace holdfast::redis_engine
