#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "codec/resp/resp_writer.h"

namespace holdfast::doors::resp {

class RespSession;

/// The channel of a kind of event, such as `lease:granted`.
std::string_view channel_of(authority::EventKind kind);
inline constexpr std::array event_kinds{authority::EventKind::granted, authority::EventKind::renewed,
                                        authority::EventKind::released, authority::EventKind::expired,
                                        authority::EventKind::revoked};

/// The subscriptions of one connection, by name or by pattern. Any name may be subscribed to, as in Redis, but only
/// lease events produce messages.
class Subscriptions {
 public:
    static constexpr std::size_t most = 1000;
    static constexpr std::size_t max_name_bytes = 256;
    using Names = std::set<std::string, std::less<>>;

    Subscriptions() = default;
    Subscriptions(const Subscriptions&) = delete;
    Subscriptions& operator=(const Subscriptions&) = delete;

    /// False if the limit is reached.
    bool add_channel(std::string_view name);
    bool add_pattern(std::string_view pattern);
    void remove_channel(std::string_view name);
    void remove_pattern(std::string_view pattern);
    void clear();

    std::size_t size() const { return channels_.size() + patterns_.size(); }
    const Names& channels() const { return channels_; }
    const Names& patterns() const { return patterns_; }

    /// How an event reaches this connection: by its channel's name, by patterns, or not at all.
    struct Route {
        bool by_name = false;
        std::set<std::string_view> patterns;  ///< refer into patterns()
        bool any() const { return by_name || !patterns.empty(); }
    };
    const Route& route(authority::EventKind kind) const { return routes_[static_cast<std::size_t>(kind)]; }
    /// The number of pattern comparisons so far: one per channel for each pattern added.
    std::uint64_t comparisons() const { return comparisons_; }

 private:
    Names channels_, patterns_;
    std::uint64_t comparisons_ = 0;
    std::array<Route, event_kinds.size()> routes_;
};

/// Notifies subscribed sessions of events. Subscribes to events only while there are such sessions.
class SubscriberHub {
 public:
    explicit SubscriberHub(authority::Authority& authority) : authority_(authority) {}
    ~SubscriberHub() { shut(); }
    SubscriberHub(const SubscriberHub&) = delete;
    SubscriberHub& operator=(const SubscriberHub&) = delete;

    /// REQUIRES: not called during a notification.
    void join(RespSession& session);
    void leave(RespSession& session);
    void shut();

 private:
    void tell(const authority::Event& event);

    authority::Authority& authority_;
    std::vector<RespSession*> sessions_;
    std::optional<authority::Events::Subscription> subscription_;
    std::string message_;  // reused
};

}  // namespace holdfast::doors::resp
