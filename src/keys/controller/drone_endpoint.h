#pragma once

#include <map>
#include <set>
#include <string>

#include "keys/controller/key_watch.h"
#include "keys/controller/messages.h"

namespace holdfast::keys::controller {

/// The controller's side of the drone protocol (docs/keys.md): drones report here and wait for orders.
class DroneEndpoint {
 public:
    DroneEndpoint(KeyState& book, KeyWatch& watch, std::string life);

    void heartbeat(Heartbeat heartbeat, Callback<authority::Answer<HeartbeatAnswer>> reply);

    /// Names a waiting request, for cancel(). 0: answered already.
    using Ticket = std::uint64_t;
    Ticket orders(const OrdersRequest& request, Callback<authority::Answer<OrdersAnswer>> reply);
    /// The waiting drone has closed its connection. The request is answered without orders, since nobody reads the
    /// answer.
    void cancel(Ticket ticket);
    /// This connection has ended. If it is the one on which the drone last asked for orders, the drone may be dead.
    void connection_ended(const std::string& drone, std::uint64_t connection);
    /// This drone has new orders: answers its waiting request.
    void wake(const std::string& drone);
    /// The drone is gone: answers its waiting request without orders.
    void dismiss(const std::string& drone);
    /// Answers all waiting requests; from now on no request waits.
    void stop();

    std::size_t listeners() const { return waiting_.size(); }

    void advance();
    Instant next_due() const;

 private:
    struct Waiting {
        Ticket ticket = 0;
        Instant until;
        Callback<authority::Answer<OrdersAnswer>> reply;
    };

    KeyState& book_;
    KeyWatch& watch_;
    std::string life_;
    std::map<std::string, Waiting> waiting_;              // by drone
    std::map<Ticket, std::string> tickets_;               // the drone that waits
    std::set<std::pair<Instant, std::string>> timeouts_;  // of the waiting requests
    Ticket last_ticket_ = 0;
    bool stopping_ = false;

    authority::Answer<Drone*> registered(const Heartbeat& heartbeat);
    std::optional<authority::Refused> begin_life(Drone& drone, const Heartbeat& heartbeat);
    void end_life(Drone& drone);
    void note_hung_up(Drone& drone, bool hung_up);
    bool take(const Heartbeat& heartbeat, const BackendReport& report);
    void end_unnamed(const Heartbeat& heartbeat);
    void reassert(const Heartbeat& heartbeat, HeartbeatAnswer answer,
                  Callback<authority::Answer<HeartbeatAnswer>> reply);
    Callback<authority::Answer<OrdersAnswer>> stop_waiting(const std::string& drone);
    OrdersAnswer orders_for(Drone& drone);
};

}  // namespace holdfast::keys::controller
