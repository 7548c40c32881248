#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "store/cas/engine.h"

namespace holdfast::store::etcd {

/// An etcd lease.
using LeaseNumber = std::int64_t;

/// The etcd leases that keys are attached to, each shared by all keys that must last until about the same time: the
/// later that is, the coarser. So there are only some dozens, whatever the number of keys. Each is granted ahead of
/// need, once the one before it is in use, so that a write does not have to wait for it.
class LeaseSpans {
 public:
    static constexpr Duration finest = 10s;
    static constexpr Duration margin = 5s;

    using Granted = Callback<Result<LeaseNumber>>;
    /// Requests an etcd lease with this TTL, in etcd's seconds.
    using Grant = std::function<void(std::int64_t seconds, Granted reply)>;

    /// `rho`: how far etcd's clock and this one may differ in rate.
    LeaseSpans(double rho, Grant grant) : rho_(rho), grant_(std::move(grant)) {}

    /// Returns a lease that lasts until then or somewhat longer. Calls back at once if there is one.
    void lasting_until(cas::EngineTime until, cas::EngineTime now, Granted reply);
    /// etcd no longer has this lease.
    void forget(LeaseNumber lease);
    /// etcd has none of the leases granted so far.
    void forget_all();

    std::size_t size() const { return spans_.size(); }

 private:
    struct Name {
        Duration length;
        std::int64_t number;
        auto operator<=>(const Name&) const = default;
        cas::EngineTime end() const { return cas::EngineTime(length * number); }
    };
    struct Span {
        LeaseNumber lease = 0;  ///< 0: requested
        std::vector<Granted> waiting;
    };
    static Name name_of(cas::EngineTime until, cas::EngineTime now);
    Span& get(Name name, cas::EngineTime now);
    void granted(Name name, Result<LeaseNumber> lease);

    double rho_;
    Grant grant_;
    std::map<Name, Span> spans_;
};

}  // namespace holdfast::store::etcd
