#pragma once

#include <functional>
#include <memory>
#include <string>

#include "authority/authority.h"
#include "keys/controller/messages.h"

namespace holdfast::core {

/// At most one backend per key (K1–K6): takes keys, orders drones to start and end backends, and knows what they
/// report.
///
/// Over the authority, so that it runs on every store; any number of controllers may work on one store. What it knows
/// of drones and backends is in memory: drones tell it to every controller, and again after a restart. Runs on the
/// authority's thread, reads no clock, and may be answered late by the store.
class Controller {
 public:
    struct Parts {
        Authority& authority;
        std::string life;  ///< names this life of the controller; never the same twice
        std::uint64_t seed = 0;
    };
    explicit Controller(Parts parts);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    const std::string& life() const;

    /// The time, before each request and whenever next_due() is reached.
    void advance(Instant now);
    Instant next_due() const;

    /// Nobody waits from now on.
    void stop();

    /// Names a request that waits, for its cancel function. 0: answered already.
    using Ticket = std::uint64_t;
    Ticket connect(ConnectRequest request, Callback<Answer<Connected>> reply);
    void cancel_connect(Ticket ticket);

    // What drones say (docs/keys.md).
    void heartbeat(Heartbeat heartbeat, Callback<Answer<HeartbeatAnswer>> reply);
    Ticket orders(const OrdersRequest& request, Callback<Answer<OrdersAnswer>> reply);
    void cancel_orders(Ticket ticket);
    /// The connection with this number, on which this drone asked for orders, has ended. If it asked on no other since,
    /// it may be dead: until it speaks again nobody is sent to its backends, and it gets no new ones.
    void connection_ended(const std::string& drone, std::uint64_t connection);

    std::optional<DroneView> drone(const std::string& id) const;
    DronePage drones(const std::string& after, std::size_t limit) const;
    Answer<DroneView> drain(const std::string& id, bool draining);
    /// Only one that is silent. Backends of it that may be alive stay until their keys have run out.
    Answer<DroneView> forget_drone(const std::string& id);

    std::optional<BackendView> backend(const std::string& id) const;
    /// Why there is no such backend: `unknown_backend`, or `recovering` if its drone may not have told of it yet: a key
    /// that is held says that there is one, or the server was just started and has lost the keys.
    void why_unknown(const std::string& id, Callback<Refused> reply) const;
    BackendPage backends(const Backends::Filter& filter, const std::string& after, std::size_t limit) const;
    /// Those whose keys are held, and of which no drone has told this controller yet; of any state.
    void unreported(const Backends::Filter& filter, Callback<UnreportedBackends> reply) const;
    Answer<BackendView> terminate(const std::string& id, Severity how);
    /// The watcher is called after each change of a backend, until unwatch(). REQUIRES: there is such a backend.
    std::uint64_t watch(const std::string& id, std::function<void(const BackendView&)> watcher);
    void unwatch(const std::string& id, std::uint64_t watch);

    /// A page of the keys that are held; the query's prefix is set here.
    void keys(ListQuery query, Callback<Answer<KeyPage>> reply) const;
    /// Bars a key from renewal: it runs out, and its backend ends before (K6).
    void bar(const Key& key, Callback<Answer<HeldKey>> reply, const Caller& by);
    /// Bars the lease of a key and has its backend ended now. The key stays taken until its drone says that the backend
    /// is dead, or until it has run out (K6).
    void revoke(const LeaseName& name, Callback<Answer<HeldLease>> reply, const Caller& by);

    struct Counts {
        std::size_t drones = 0;
        std::array<std::size_t, backend_state_count> backends{};
        std::size_t connects = 0;   ///< that are being answered or wait
        std::size_t listeners = 0;  ///< drones that wait for orders
    };
    Counts counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
