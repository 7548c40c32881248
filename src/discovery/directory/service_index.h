#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/directory/advert.h"
#include "discovery/directory/directory.h"
#include "lease/ip_prefix.h"

namespace holdfast::discovery::directory {

/// A service as known on this node.
struct Service {
    std::string identity;
    lease::Token token = 0;
    Duration ttl{};
    Instant expires_at;
    Instant renewed_at;  ///< the last renewal; expires_at may be read slightly later each time
    Advert advert;
    std::optional<lease::IpPrefix> from;  ///< the publisher's address
    std::uint64_t connection = 0;         ///< the connection here that serves it; 0: none
    Instant heard_at{};                   ///< when its publisher was last heard from
    bool silent = false;                  ///< missed two renewals, or its publisher says that it does not serve it (D4)
    bool is_watched = false;              ///< a silence check is scheduled
    std::optional<Code> hidden;           ///< the reason: a ban (D4) or a name rule (D5)
    bool leaving = false;                 ///< its publisher asked to unregister it
    std::optional<Code> ended;            ///< the reason, until it is announced or the service is replaced
};

/// How long a publisher may be silent before its services are stale: two missed renewals, plus half an interval for
/// network delay.
Duration silence_of(Duration ttl);

/// A pending notice to the watchers, or to the publisher that lost the lease.
struct Notice {
    std::optional<Directory::Change> change;
    std::optional<Code> withdrawn;
    std::string name;
    Service service;  ///< at the time of the event
};

/// All services known on this node, whichever node registered them. Fed by the store's lease events and by the answers
/// to our own requests. Both may report the same change, in any order; the higher token is newer (G3).
///
/// Makes no callbacks: notices and releases are queued until they are taken.
class ServiceIndex {
 public:
    explicit ServiceIndex(std::uint64_t life) : life_(life) {}

    // Queries.
    const std::map<std::string, Service, std::less<>>& all() const { return services_; }
    const Service* find(std::string_view name) const;
    std::size_t count_of(std::string_view identity) const;
    std::size_t connected() const { return connected_; }

    // Changes. `heard_at` is when the publisher was heard from, on this node's clock.
    void seen(std::string_view name, const lease::Lease& lease, Instant heard_at);
    void renewed(std::string_view name, const lease::Lease& lease, Instant heard_at);
    /// Its publisher asked for a renewal, whether or not it was granted.
    void heard(std::string_view name, lease::Token token, Instant heard_at);
    /// Its publisher says that it does not serve it.
    void not_served(std::string_view name, lease::Token token);
    /// A cluster node, and with it its relay, has become unreachable from here, or reachable again.
    void node_is(std::uint32_t node, bool reachable);
    bool is_stale(const Service& service) const;
    void ended(std::string_view name, lease::Token token, Code why);
    /// Its publisher asked to unregister it.
    void leaves(std::string_view name, lease::Token token);
    /// Ends the services that have expired without an event.
    void expire(Instant now);
    /// Detects publishers that have fallen silent.
    void advance(Instant now);
    Instant next_due() const { return checks_.empty() ? Instant::max() : checks_.begin()->first; }
    /// Re-evaluates which services an admin hides (D4, D5).
    using HiddenAs = std::function<std::optional<Code>(std::string_view name, const Service&)>;
    void hide_and_show(const HiddenAs& hidden_as);

    // Connections.
    void open(std::uint64_t connection) { connections_[connection]; }
    bool is_open(std::uint64_t connection) const { return connections_.contains(connection); }
    std::size_t served_over(std::uint64_t connection) const;
    /// The publisher of this lease uses another connection now.
    void move(std::string_view name, lease::Token token, std::uint64_t connection);
    /// Queues a release for each service that this connection served.
    void close(std::uint64_t connection);

    // Pending work.
    struct ToRelease {
        std::string name;
        std::string identity;
        lease::Token token = 0;
    };
    std::vector<ToRelease> take_releases() { return std::exchange(releases_, {}); }
    std::deque<Notice> take_notices();
    /// Names whose lease has ended. Filled by take_notices().
    struct Freed {
        std::string name, identity;
    };
    std::vector<Freed> take_freed() { return std::exchange(freed_, {}); }
    bool anything_to_do() const { return !endings_.empty() || !notices_.empty() || !releases_.empty(); }

 private:
    using Place = std::map<std::string, Service, std::less<>>::iterator;

    Service made_of(std::string_view name, const lease::Lease& lease) const;
    void set_silent(Place place, bool silent);
    void check_later(const std::string& name, Service& service);
    void attach(const std::string& name, Service& service);
    void detach(const std::string& name, Service& service);
    void tell(const std::string& name, const Service& service, Directory::Change change);
    void withdraw(const std::string& name, const Service& service, Code why);
    void remove(Place place);

    const std::uint64_t life_;
    std::map<std::string, Service, std::less<>> services_;
    std::map<std::string, std::size_t, std::less<>> identities_;
    std::map<std::uint64_t, std::set<std::string, std::less<>>> connections_;  // the open ones and their services
    std::size_t connected_ = 0;
    std::set<std::string, std::less<>> endings_;  // services whose end has not been announced yet
    std::vector<ToRelease> releases_;
    std::deque<Notice> notices_;
    std::vector<Freed> freed_;
    // When to check whether a publisher has fallen silent. A renewal does not reschedule the check; one that fires too
    // early is scheduled again.
    struct SilenceCheck {
        std::string name;
        lease::Token token = 0;
    };
    std::multimap<Instant, SilenceCheck> checks_;
    std::set<std::uint32_t> unreachable_;  // nodes
    HiddenAs hidden_as_;
};

}  // namespace holdfast::discovery::directory
