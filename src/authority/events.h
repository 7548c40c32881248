#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease.h"

namespace holdfast::authority {

enum class EventKind : std::uint8_t { granted, renewed, released, expired, revoked };
std::string_view to_string(EventKind kind);

/// Something that happened to a lease.
struct Event {
    std::uint64_t sequence = 0;  ///< from 1, without gaps; 0 for a renewal, which is not kept
    EventKind kind = EventKind::granted;
    Instant at;
    lease::Token token = 0;
    lease::Predicate predicate = lease::Predicate::mutates;
    std::string resource;  ///< the full name
    std::string holder;
};

/// Publishes events to listeners and keeps the latest for clients that reconnect.
class Events {
 public:
    using Listener = std::function<void(const Event&)>;
    using Subscription = std::uint64_t;

    /// The source of events for grants, renewals, releases and revocations: this authority for the requests it carried
    /// out, or its store, which also sees those of other nodes.
    enum class Teller : std::uint8_t { authority, store };

    explicit Events(Teller teller = Teller::authority, std::size_t kept = 10'000);

    void publish(EventKind kind, std::string_view resource, const lease::Lease& lease, Instant at);
    /// For a request that this authority carried out: publishes unless the store does.
    void publish_own(EventKind kind, std::string_view resource, const lease::Lease& lease, Instant at) {
        if (teller_ == Teller::authority) publish(kind, resource, lease, at);
    }

    /// The listener is called for every event from now on, including renewals, until unsubscribe(). It must not
    /// subscribe or unsubscribe during a call.
    Subscription subscribe(Listener listener);
    void unsubscribe(Subscription subscription);

    /// The follower is called for every change of a lease whose full name begins with `prefix`, with the lease as far
    /// as it is known; for renewals only if the store reports them. Unlike subscribe(), it does not make every renewal
    /// build an event.
    using Follower = std::function<void(EventKind kind, std::string_view resource, const lease::Lease& lease)>;
    Subscription follow(std::string prefix, Follower follower);
    void unfollow(Subscription subscription);

    Teller teller() const { return teller_; }
    bool anyone_listens() const { return !listeners_.empty(); }

    /// The sequence of the latest event; 0 if none.
    std::uint64_t latest() const { return latest_; }

    /// True if everything after this sequence is still kept.
    bool keeps_all_after(std::uint64_t sequence) const;

    /// Calls `visit` with every kept event after the sequence, oldest first.
    void replay(std::uint64_t after, const Listener& visit) const;

 private:
    void prefetch(std::uint64_t sequence) const;
    const Event& kept(std::uint64_t sequence) const { return ring_[sequence % ring_.size()]; }

    Teller teller_;
    std::vector<Event> ring_;  // by sequence modulo size; slots are reused, so that publishing allocates nothing
    std::uint64_t latest_ = 0;
    Event passing_;  // renewals are published but not kept
    std::map<Subscription, Listener> listeners_;
    struct Following {
        std::string prefix;
        Follower follower;
    };
    std::map<Subscription, Following> followers_;
    Subscription next_subscription_ = 1;
};

}  // namespace holdfast::authority
