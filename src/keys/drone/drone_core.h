#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "keys/drone/controller_talk.h"

namespace holdfast::keys::drone {

/// The ids of backends that ended in this incarnation of the drone, so that a repeated order does not start one again.
/// Each id is kept until its key must have expired; after that, a repeated order is past its own deadline.
class EndedIds {
 public:
    bool contains(const std::string& id) const { return ids_.contains(id); }
    std::size_t size() const { return ids_.size(); }

    void add(const std::string& id, HolderInstant until) {
        if (ids_.insert(id).second) by_end_.emplace(until, id);
    }

    /// Removes the ids that are no longer needed.
    void drop_old(HolderInstant now) {
        while (!by_end_.empty() && by_end_.begin()->first <= now) {
            ids_.erase(by_end_.begin()->second);
            by_end_.erase(by_end_.begin());
        }
    }

 private:
    std::set<std::string> ids_;
    std::set<std::pair<HolderInstant, std::string>> by_end_;
};

// Effects that the core requests, each once. The result comes back through the function named.

struct SendHeartbeat {
    HeartbeatAsk ask;  ///< on_heartbeat()
};
struct SendOrders {
    OrdersAsk ask;  ///< on_orders()
};
struct SendRenewal {
    RenewAsk ask;  ///< on_renewal()
};
struct Launch {
    SpawnOrder order;  ///< on_starting() and on_running(), or on_not_started(); on_ended() once all is dead
    supervise::WorkDeadlines deadlines;  ///< the current ones
};
struct MoveDeadlines {
    std::string backend;
    supervise::WorkDeadlines deadlines;
};
struct StopBackend {
    std::string backend;
    HolderInstant kill_at;
};
struct Probe {
    std::string backend;  ///< on_probe()
    std::uint16_t port = 0;
    Readiness ready;
};
/// For the log.
struct Note {
    bool warning = false;
    std::string text;
};
using Effect = std::variant<SendHeartbeat, SendOrders, SendRenewal, Launch, MoveDeadlines, StopBackend, Probe, Note>;

/// All decisions of a drone: which backends run, until when, and which controllers are still to be notified. No I/O, no
/// clock, no threads: events come in, effects come out of step(). The shell around it is drone.h.
class DroneCore {
 public:
    struct Settings {
        std::size_t controllers = 1;
        /// Who the drone is: the part of each heartbeat that stays the same.
        Heartbeat self{.capacity = 100};
        /// Backends that are here or whose ids are still needed (EndedIds). Beyond it, orders to start one are ignored.
        std::size_t max_known = 20'000;
    };
    static constexpr std::size_t max_capacity = limits::drone_capacity;

    DroneCore(Settings settings, HolderInstant now);

    /// The effects to carry out now.
    std::vector<Effect> step(HolderInstant now);
    /// When to step next if no event comes before.
    HolderInstant next_due() const;

    void on_heartbeat(const HeartbeatAsk& ask, const Result<HeartbeatAnswer>& answer, HolderInstant now);
    void on_orders(const OrdersAsk& ask, const Result<OrdersAnswer>& answer, HolderInstant now);
    void on_renewal(const RenewAsk& ask, const RenewAnswer& answer, HolderInstant now);

    void on_starting(const std::string& backend, std::uint16_t port);
    void on_running(const std::string& backend, HolderInstant now);
    void on_not_started(const std::string& backend, std::string message);
    void on_ended(const std::string& backend, const Ending& ending);
    void on_probe(const std::string& backend, bool answered, HolderInstant now);

    /// The ports of backends with an idle limit.
    std::vector<std::uint16_t> watched_ports() const;
    /// Those of the watched ports that have a connection now.
    void on_connections(const std::vector<std::uint16_t>& busy, HolderInstant now);

    /// Ends all backends; no new ones are started.
    void stop(Severity how, HolderInstant now);
    bool stopping() const { return stopping_; }
    /// Another incarnation of this drone has registered: all backends here must end at once.
    bool usurped() const { return usurped_; }
    /// Stopped, all backends are dead, and every reachable controller has been notified; or the time to wait for that
    /// is over.
    bool finished(HolderInstant now) const;

    /// Null if the backend is not known, or no longer known.
    const Backend* find(const std::string& backend) const;
    /// The number of backends that have not ended.
    std::size_t running() const;
    /// The number of backends that are here or whose ids are still needed.
    std::size_t known() const { return backends_.size() + ended_.size(); }

 private:
    struct Reassertion {
        std::size_t controller = 0;
        bool unknown = false;  ///< the server does not know the lease: lost unless re-asserted
    };

    void carry_out(const Order& order, HolderInstant now);
    void spawn(const SpawnOrder& order, HolderInstant now);
    void take_needs(const std::string& id, Backend& backend, HolderInstant now);
    void renew_due(HolderInstant now);
    void talk_to(std::size_t controller, HolderInstant now);
    HeartbeatAsk heartbeat_for(std::size_t controller, HolderInstant now) const;
    bool has_news_for(const ControllerTalk& talk) const;
    bool wants_reassertion(std::size_t controller) const;
    void on_reply(const std::string& id, const client::RenewReply& reply, const RenewAsk& ask, std::size_t controller,
                  HolderInstant now);
    void on_refusal(const std::string& id, Backend& backend, const Error& error, std::size_t controller,
                    HolderInstant now);
    void settle_reassertions(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now);
    void drop_ended();
    bool everyone_knows(const std::string& id, const Backend& backend) const;
    bool draining() const;
    void note(std::string text) { effects_.push_back(Note{false, std::move(text)}); }
    void warn(std::string text) { effects_.push_back(Note{true, std::move(text)}); }

    const Settings settings_;
    std::map<std::string, Backend> backends_;
    EndedIds ended_;
    std::vector<ControllerTalk> talks_;
    std::map<std::string, Reassertion> reassertions_;
    std::vector<Effect> effects_;
    bool renewal_under_way_ = false;
    bool stopping_ = false;
    bool usurped_ = false;
    HolderInstant linger_until_ = HolderInstant::max();
};

}  // namespace holdfast::keys::drone
