#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/result.h"
#include "doors/http/readiness.h"
#include "server/driver.h"
#include "server/server.h"
#include "store/store.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

class Logger;
struct ClusterSettings;

/// Where a server keeps its leases, and what it agrees on with others: in its own memory, in the memory of a majority
/// of a cluster, or in an engine.
///
/// Call order: authority_parts(), prepare(), open(), begin(), start(), and at the end leave(), stop(), save(), close().
class Backend {
 public:
    virtual ~Backend() = default;

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
    /// Restores the state that an earlier run left, before any request is served. Returns what to drive besides the
    /// store and the authority.
    virtual Result<std::vector<Driven>> begin() = 0;
    /// `driver` may be used from now on. `on_node` is called when another node becomes unreachable from here, or
    /// reachable again.
    using OnNode = std::function<void(std::uint32_t node, bool reachable)>;
    virtual Result<void> start(Driver& driver, OnNode on_node) = 0;

    /// Releases the server's own leases, while it still can.
    virtual void leave() = 0;
    /// Stops receiving from other nodes or the engine. Calls `done` when nothing more will arrive.
    virtual void stop(std::function<void()> done) = 0;
    /// Saves the state for the next start. Returns a message for the log.
    virtual Result<std::string> save() = 0;
    /// Destroys the store. The authority is about to be destroyed.
    virtual void close() = 0;

    /// The number of this node in its cluster, counted from 1; 0 if it is in none.
    virtual std::uint32_t node_number() const { return 0; }
    /// The responses of GET /v1/quorum, empty if there is no quorum, and of GET /v1/store.
    virtual std::string quorum_status() { return {}; }
    virtual std::string store_status() = 0;
    /// Why the store cannot be used at the moment; null if it can.
    virtual const Error* trouble() const { return nullptr; }
    /// Any other problem, and numbers for GET /metrics.
    virtual std::optional<doors::http::Trouble> own_trouble() { return std::nullopt; }
    virtual void add_numbers(doors::http::MetricNumbers&) {}
};

inline constexpr const char* token_headroom_help = "Tokens that may be granted before the disk has to reserve more";

using MadeBackend = Result<std::unique_ptr<Backend>>;

/// Leases in this server's memory, and in its state directory between a clean stop and the next start.
MadeBackend make_memory_backend(boost::asio::io_context& loop, const ServeOptions& options, Logger& log);
/// One node's share of the leases of a cluster, likewise. `settings` must outlive it.
MadeBackend make_quorum_backend(boost::asio::io_context& loop, const ServeOptions& options,
                                const ClusterSettings& settings, Logger& log);
/// No leases here: a front, one of many equal ones, of an engine. Error `invalid_argument` if `options.store` is not
/// the address of one.
MadeBackend make_engine_backend(boost::asio::io_context& loop, const ServeOptions& options, Logger& log);

}  // namespace holdfast::server
