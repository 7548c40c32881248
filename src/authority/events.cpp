#include "authority/events.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::authority {

std::string_view to_string(EventKind kind) {
    switch (kind) {
        case EventKind::granted:
            return "granted";
        case EventKind::renewed:
            return "renewed";
        case EventKind::released:
            return "released";
        case EventKind::expired:
            return "expired";
        case EventKind::revoked:
            break;
    }
    return "revoked";
}

Events::Events(Teller teller, std::size_t kept) : teller_(teller), ring_(kept) {
    HOLDFAST_ASSERT(kept > 0);
}

void Events::publish(EventKind kind, std::string_view resource, const lease::Lease& lease, Instant at) {
    for (const auto& [subscription, following] : followers_)
        if (resource.starts_with(following.prefix)) following.follower(kind, resource, lease);
    const bool passing = kind == EventKind::renewed;
    if (passing && listeners_.empty()) return;
    const std::uint64_t sequence = passing ? 0 : ++latest_;
    Event& event = passing ? passing_ : ring_[sequence % ring_.size()];
    event.sequence = sequence;
    event.kind = kind;
    event.at = at;
    event.token = lease.token;
    event.predicate = lease.predicate;
    event.resource.assign(resource);
    event.holder.assign(lease.holder);
    if (!passing) prefetch(sequence + 4);
    for (const auto& [subscription, listener] : listeners_)
        listener(event);
}

/// The ring exceeds the processor's cache, and a slot is reused only after all the others.
void Events::prefetch(std::uint64_t sequence) const {
    const Event& soon = ring_[sequence % ring_.size()];
    __builtin_prefetch(soon.resource.data(), 1);
    __builtin_prefetch(soon.holder.data(), 1);
    __builtin_prefetch(&ring_[(sequence + 4) % ring_.size()], 1);
}

Events::Subscription Events::subscribe(Listener listener) {
    listeners_.emplace(next_subscription_, std::move(listener));
    return next_subscription_++;
}

void Events::unsubscribe(Subscription subscription) {
    listeners_.erase(subscription);
}

Events::Subscription Events::follow(std::string prefix, Follower follower) {
    followers_.emplace(next_subscription_, Following{std::move(prefix), std::move(follower)});
    return next_subscription_++;
}

void Events::unfollow(Subscription subscription) {
    followers_.erase(subscription);
}

bool Events::keeps_all_after(std::uint64_t sequence) const {
    return sequence <= latest_ && latest_ - sequence <= ring_.size();
}

void Events::replay(std::uint64_t after, const Listener& visit) const {
    const std::uint64_t oldest = latest_ > ring_.size() ? latest_ - ring_.size() : 0;
    for (std::uint64_t sequence = std::max(after, oldest) + 1; sequence <= latest_; ++sequence)
        visit(kept(sequence));
}

}  // namespace holdfast::authority
