#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "keys/controller/key_limits.h"
#include "keys/drone/talk.h"

namespace holdfast::drone {

/// What one controller knows of this drone and is still to be told: at most one heartbeat and one call for orders under
/// way, a report said again until it is answered. No I/O; time is an argument.
class ControllerTalk {
 public:
    /// The most backends in one heartbeat; the rest comes with the next.
    static constexpr std::size_t max_reports = core::limits::backends_per_heartbeat;
    /// How long a call for orders waits at the controller.
    static constexpr Duration orders_wait = 7s;

    explicit ControllerTalk(HolderInstant now) : heartbeat_at_(now), orders_at_(now) {}

    // Heartbeats.

    /// True if one is to be sent now.
    bool heartbeat_due(HolderInstant now, bool news) const;
    HolderInstant next_heartbeat() const {
        return heartbeat_under_way_ ? HolderInstant::max() : std::max(heartbeat_at_, not_before_);
    }
    bool wants_all() const { return send_all_; }
    void heartbeat_sent() { heartbeat_under_way_ = true; }
    /// True if the one before was not answered so.
    bool heartbeat_answered(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now);
    /// True if the one before did not fail, or for another reason.
    bool heartbeat_failed(const Error& error, HolderInstant now);
    /// Something of importance to say.
    void hurry(HolderInstant now) { heartbeat_at_ = std::min(heartbeat_at_, now); }

    /// True if it has been told of this version of a backend, or need not be.
    bool has_heard(const std::string& backend, std::uint64_t version) const;
    /// A backend that was dropped before this controller heard of its end.
    void forget(const std::string& backend, bool heard);

    // Orders.

    HolderInstant next_orders() const { return life_.empty() || orders_under_way_ ? HolderInstant::max() : orders_at_; }
    OrdersAsk orders_sent(HolderInstant now);
    /// Takes note of what is to be acknowledged.
    void orders_answered(const OrdersAsk& ask, const OrdersAnswer& answer, HolderInstant now);
    void orders_failed(const OrdersAsk& ask, const Error& error, HolderInstant now);

    /// The life of the controller; empty before it was ever heard.
    const std::string& life() const { return life_; }
    bool drain() const { return drain_; }
    /// It answered the last heartbeat.
    bool is_reached() const { return reached_; }

 private:
    void meet(const std::string& life);

    std::string life_;
    std::string failure_;  ///< the code of the last heartbeat's
    std::map<std::string, std::uint64_t> heard_;
    std::vector<std::uint64_t> done_;
    HolderInstant heartbeat_at_;
    HolderInstant orders_at_;
    HolderInstant not_before_{};  ///< a controller that cannot be reached is not asked again at once
    bool heartbeat_under_way_ = false;
    bool orders_under_way_ = false;
    bool send_all_ = true;
    bool drain_ = false;
    bool reached_ = false;
};

}  // namespace holdfast::drone
