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

namespace holdfast {

/// Where a server has its leases and what must last: with itself or with the other members of its cluster
/// (local_home.h), or in an engine (front_home.h).
///
/// Its life: authority_parts(), prepare(), open(), begin(), start(), and at the end leave(), stop(), save(), close().
class Home {
 public:
    virtual ~Home() = default;

    /// What the authority starts with.
    virtual core::Authority::Parts authority_parts() = 0;

    /// Gets hold of what keeps the leases. Calls `ready` once, at once or later, unless stop() comes first; its error
    /// is one that does not heal by waiting. If it takes longer, `waits` is called once before, with why: as long as
    /// trouble() says so, nothing can be asked of the store.
    struct Preparation {
        std::function<void(const Error& why)> waits;
        std::function<void(const Result<void>&)> ready;
    };
    virtual void prepare(Preparation preparation) { preparation.ready({}); }

    /// The store, which tells the authority what it sees.
    virtual core::DrivenStore& open(core::Authority& authority) = 0;
    /// Takes up what an earlier life left, before anybody can ask for anything.
    virtual Result<void> begin() = 0;

    /// What is told the time besides the store and the authority.
    virtual std::vector<Driven> driven() = 0;
    /// The driver is there from now on.
    virtual Result<void> start(Driver& driver) = 0;

    /// Gives back what it holds itself, while it still can.
    virtual void leave() = 0;
    /// Nothing comes from elsewhere any more once it calls done.
    virtual void stop(std::function<void()> done) = 0;
    /// What the next life is to take up. Returns what to say of it.
    virtual Result<std::string> save() = 0;

    /// The store is gone from now on, and the authority is about to go.
    virtual void close() = 0;

    /// Which node of a cluster this is, counted from 1; 0 if it is of none.
    virtual std::uint32_t node_number() const { return 0; }
    /// Called when another node cannot be reached from here, or can be again.
    virtual void on_node(std::function<void(std::uint32_t node, bool reachable)>) {}

    /// The answer of GET /v1/quorum; empty if there is no quorum. And of GET /v1/store.
    virtual std::string quorum_status() { return {}; }
    virtual std::string store_status() = 0;
    /// Why the store cannot be used at the moment; none if it can.
    virtual const Error* trouble() const { return nullptr; }
    /// What is wrong besides, if something is; and numbers for GET /metrics.
    virtual std::optional<Trouble> own_trouble() { return std::nullopt; }
    virtual void add_numbers(MetricNumbers&) {}
};

}  // namespace holdfast
