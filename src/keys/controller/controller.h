#pragma once

#include <functional>
#include <memory>
#include <string>

#include "authority/authority.h"
#include "keys/controller/connects.h"
#include "keys/controller/drone_endpoint.h"
#include "keys/controller/messages.h"

namespace holdfast::keys::controller {

/// Ensures at most one backend per key (K1–K6): takes keys, orders drones to start and end backends, and tracks their
/// reports.
///
/// Uses the authority, so it runs on every store; any number of controllers may share one store. Its state about drones
/// and backends is in memory: drones report to every controller, and report everything again after it restarts. Runs on
/// the authority's thread and reads no clock. The store may answer asynchronously.
class Controller {
 public:
    struct Parts {
        authority::Authority& authority;
        std::string life;  ///< incarnation id of this controller; unique for each start
        std::uint64_t seed = 0;
    };
    explicit Controller(Parts parts);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    const std::string& life() const;

    /// Sets the time. Call it before each request and whenever next_due() is reached.
    void advance(Instant now);
    Instant next_due() const;

    /// Answers all waiting requests; from now on no request waits.
    void stop();

    /// Where clients ask for the backends of keys.
    Connects& connects();
    /// Where drones report and wait for orders.
    DroneEndpoint& endpoint();

    std::optional<DroneView> drone(const std::string& id) const;
    DronePage drones(const std::string& after, std::size_t limit) const;
    authority::Answer<DroneView> drain(const std::string& id, bool draining);
    /// Only for a silent drone. Its backends that may be alive stay listed until their keys have expired.
    authority::Answer<DroneView> forget_drone(const std::string& id);

    std::optional<BackendView> backend(const std::string& id) const;
    /// Why a backend is not known: `unknown_backend`, or `recovering` if its drone may not have reported it yet. The
    /// latter is the answer if a held key names the backend, or if the server was just started and has lost its keys.
    void why_unknown(const std::string& id, Callback<authority::Refused> reply) const;
    BackendPage backends(const Backends::Filter& filter, const std::string& after, std::size_t limit) const;
    /// The held keys whose backends this controller does not know yet. Ignores the filter's state.
    void unreported(const Backends::Filter& filter, Callback<UnreportedBackends> reply) const;
    authority::Answer<BackendView> terminate(const std::string& id, Severity how);
    /// The watcher is called after each change of a backend, until unwatch(). REQUIRES: the backend is known.
    std::uint64_t watch(const std::string& id, std::function<void(const BackendView&)> watcher);
    void unwatch(const std::string& id, std::uint64_t watch);

    /// A page of the held keys. Sets the query's prefix itself.
    void keys(store::ListQuery query, Callback<authority::Answer<KeyPage>> reply) const;
    /// Bars a key from renewal: it expires, and its backend ends before that (K6).
    void bar(const Key& key, Callback<authority::Answer<HeldKey>> reply, const authority::Caller& by);
    /// Bars the lease of a key and orders its drone to end the backend now. The key stays taken until the drone reports
    /// that the backend is dead, or until it expires (K6).
    void revoke(const lease::LeaseName& name, Callback<authority::Answer<authority::HeldLease>> reply,
                const authority::Caller& by);

    struct Counts {
        std::size_t drones = 0;
        std::array<std::size_t, backend_state_count> backends{};
        std::size_t connects = 0;   ///< requests in progress or waiting
        std::size_t listeners = 0;  ///< drones that wait for orders
    };
    Counts counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::keys::controller
