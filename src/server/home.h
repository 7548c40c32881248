#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/result.h"
#include "doors/http/readiness.h"
#include "server/driver.h"
#include "store/store.h"

namespace holdfast::server {

/// Where a server keeps its leases and its durable state: in itself or with the other members of its cluster
/// (local_home.h), or in an engine (front_home.h).
///
/// Call order: authority_parts(), prepare(), open(), begin(), start(), and at the end leave(), stop(), save(), close().
class Home {
 public:
    virtual ~Home() = default;

    /// The initial state of the authority.
    virtual authority::Authority::Parts authority_parts() = 0;

    /// Connects to the store of the leases. Calls `ready` once, immediately or later, unless stop() comes first.
    /// `ready` gets only an error that waiting cannot resolve. If this takes long, `waits` is called once before, with
    /// the reason. As long as trouble() returns an error, the store cannot be used.
    struct Preparation {
        std::function<void(const Error& why)> waits;
        std::function<void(const Result<void>&)> ready;
    };
    virtual void prepare(Preparation preparation) { preparation.ready({}); }

    /// Opens the store, which notifies the authority of its events.
    virtual store::DrivenStore& open(authority::Authority& authority) = 0;
    /// Restores the state that an earlier run left, before any request is served.
    virtual Result<void> begin() = 0;

    /// The components to drive besides the store and the authority.
    virtual std::vector<Driven> driven() = 0;
    /// `driver` may be used from now on.
    virtual Result<void> start(Driver& driver) = 0;

    /// Releases the home's own leases, while it still can.
    virtual void leave() = 0;
    /// Stops receiving from other nodes or the engine. Calls `done` when nothing more will arrive.
    virtual void stop(std::function<void()> done) = 0;
    /// Saves the state for the next start. Returns a message for the log.
    virtual Result<std::string> save() = 0;

    /// Destroys the store. The authority is about to be destroyed.
    virtual void close() = 0;

    /// The number of this node in its cluster, counted from 1; 0 if it is in none.
    virtual std::uint32_t node_number() const { return 0; }
    /// Sets the callback for another node becoming unreachable from here, or reachable again.
    virtual void on_node(std::function<void(std::uint32_t node, bool reachable)>) {}

    /// The responses of GET /v1/quorum, empty if there is no quorum, and of GET /v1/store.
    virtual std::string quorum_status() { return {}; }
    virtual std::string store_status() = 0;
    /// Why the store cannot be used at the moment; null if it can.
    virtual const Error* trouble() const { return nullptr; }
    /// Any other problem of this home, and its numbers for GET /metrics.
    virtual std::optional<doors::http::Trouble> own_trouble() { return std::nullopt; }
    virtual void add_numbers(doors::http::MetricNumbers&) {}
};

}  // namespace holdfast::server
