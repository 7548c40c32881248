#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keys/drone/talk.h"
#include "keys/limits.h"

namespace holdfast::keys::drone {

/// The drone's side of the conversation with one controller: which reports the controller has received and which are
/// still to be sent. At most one heartbeat and one orders request are in flight; a report is repeated until it is
/// answered. No I/O; time is an argument.
class ControllerTalk {
 public:
    /// The maximum number of backends in one heartbeat; the next one carries the rest.
    static constexpr std::size_t max_reports = limits::backends_per_heartbeat;
    /// How long an orders request waits at the controller.
    static constexpr Duration orders_wait = 7s;

    explicit ControllerTalk(HolderInstant now) : heartbeat_at_(now), orders_at_(now) {}

    // Heartbeats.

    /// True if a heartbeat is to be sent now.
    bool heartbeat_due(HolderInstant now, bool news) const;
    HolderInstant next_heartbeat() const {
        return heartbeat_under_way_ ? HolderInstant::max() : std::max(heartbeat_at_, not_before_);
    }
    bool wants_all() const { return send_all_; }
    void heartbeat_sent() { heartbeat_under_way_ = true; }
    /// Returns true if the previous heartbeat was not answered.
    bool heartbeat_answered(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now);
    /// Returns true if the previous heartbeat did not fail, or failed with another code.
    bool heartbeat_failed(const Error& error, HolderInstant now);
    /// There is something urgent to report.
    void hurry(HolderInstant now) { heartbeat_at_ = std::min(heartbeat_at_, now); }

    /// True if the controller has received this version of a backend.
    bool has_heard(const std::string& backend, std::uint64_t version) const;
    /// A backend was dropped. If the controller has not heard of its end, the next heartbeat reports all backends.
    void forget(const std::string& backend, bool heard);

    // Orders.

    HolderInstant next_orders() const { return life_.empty() || orders_under_way_ ? HolderInstant::max() : orders_at_; }
    /// A request for orders, with the drone still to be named.
    OrdersRequest orders_sent(HolderInstant now);
    /// Records the orders to acknowledge.
    void orders_answered(const OrdersRequest& request, const OrdersAnswer& answer, HolderInstant now);
    void orders_failed(const Error& error, HolderInstant now);

    /// The controller's incarnation; empty before its first answer.
    const std::string& life() const { return life_; }
    bool drain() const { return drain_; }
    /// The last heartbeat was answered.
    bool is_reached() const { return reached_; }

 private:
    void meet(const std::string& life);

    std::string life_;
    std::optional<ErrorCode> failure_;  ///< the error code of the last heartbeat, if it failed
    std::map<std::string, std::uint64_t> heard_;
    std::vector<std::uint64_t> done_;
    HolderInstant heartbeat_at_;
    HolderInstant orders_at_;
    HolderInstant not_before_{};  ///< backoff after a failure
    bool heartbeat_under_way_ = false;
    bool orders_under_way_ = false;
    bool send_all_ = true;
    bool drain_ = false;
    bool reached_ = false;
};

}  // namespace holdfast::keys::drone
