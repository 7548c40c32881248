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

namespace holdfast::core {

/// A service as it is known here.
struct Service {
    std::string identity;
    Token token = 0;
    Duration ttl{};
    Instant expires_at;
    Instant renewed_at;  ///< last; expires_at may be read a little later each time
    Advert advert;
    std::optional<IpPrefix> from;  ///< where its publisher came from
    std::uint64_t connection = 0;  ///< over which it is served here; 0: it is not
    Instant heard_at{};            ///< when its publisher was last heard of
    bool silent = false;           ///< two renewals are missing, or the publisher said that it does not serve it (D4)
    bool is_watched = false;       ///< a look is due whether it has fallen silent
    std::optional<Code> hidden;    ///< why: a ban (D4) or a rule about the name (D5)
    bool leaving = false;          ///< by its publisher's own wish
    std::optional<Code> ended;     ///< why, until that is told or something took its place
};

/// How long a publisher may be silent before what it advertises is stale: two renewals are missing, and half of a third
/// for the way.
Duration silence_of(Duration ttl);

/// Something to be told: to those who watch, or to the publisher that lost it.
struct Notice {
    std::optional<Directory::Change> change;
    std::optional<Code> withdrawn;
    std::string name;
    Service service;  ///< as it was then
};

/// All services that are known here, whichever node they were registered through: from what the store tells of leases,
/// and from the answers to the own requests. Both may tell the same, in any order; the token says what is newer (G3).
///
/// It calls nobody: what is to be told and to be released waits until it is taken.
class ServiceIndex {
 public:
    explicit ServiceIndex(std::uint64_t life) : life_(life) {}

    // What is there.
    const std::map<std::string, Service, std::less<>>& all() const { return services_; }
    const Service* find(std::string_view name) const;
    std::size_t count_of(std::string_view identity) const;
    std::size_t connected() const { return connected_; }

    // What becomes known. Its publisher was heard of at `heard_at`, on this node's clock.
    void seen(std::string_view name, const Lease& lease, Instant heard_at);
    void renewed(std::string_view name, const Lease& lease, Instant heard_at);
    /// Its publisher asked for a renewal, whatever came of it.
    void heard(std::string_view name, Token token, Instant heard_at);
    /// Its publisher said that it does not serve it.
    void not_served(std::string_view name, Token token);
    /// The node of the cluster, and with it its relay, cannot be reached from here, or can be again.
    void node_is(std::uint32_t node, bool reachable);
    bool is_stale(const Service& service) const;
    void ended(std::string_view name, Token token, Code why);
    /// Its publisher wants it to end.
    void leaves(std::string_view name, Token token);
    /// What is past its time, and whose end nobody told of.
    void expire(Instant now);
    /// Notices publishers that have fallen silent.
    void advance(Instant now);
    Instant next_due() const { return checks_.empty() ? Instant::max() : checks_.begin()->first; }
    /// What an admin hides from now on, and what not any more (D4, D5).
    using HiddenAs = std::function<std::optional<Code>(std::string_view name, const Service&)>;
    void hide_and_show(const HiddenAs& hidden_as);

    // Connections.
    void open(std::uint64_t connection) { connections_[connection]; }
    bool is_open(std::uint64_t connection) const { return connections_.contains(connection); }
    std::size_t served_over(std::uint64_t connection) const;
    /// The publisher of this lease speaks over another connection now.
    void move(std::string_view name, Token token, std::uint64_t connection);
    /// What was served over it is to be released.
    void close(std::uint64_t connection);

    // What is to be done.
    struct ToRelease {
        std::string name;
        std::string identity;
        Token token = 0;
    };
    std::vector<ToRelease> take_releases() { return std::exchange(releases_, {}); }
    std::deque<Notice> take_notices();
    /// Names whose lease has ended, after take_notices().
    struct Freed {
        std::string name, identity;
    };
    std::vector<Freed> take_freed() { return std::exchange(freed_, {}); }
    bool anything_to_do() const { return !endings_.empty() || !notices_.empty() || !releases_.empty(); }

 private:
    using Place = std::map<std::string, Service, std::less<>>::iterator;

    Service made_of(std::string_view name, const Lease& lease) const;
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
    std::map<std::uint64_t, std::set<std::string, std::less<>>> connections_;  // open ones, with what they serve
    std::size_t connected_ = 0;
    std::set<std::string, std::less<>> endings_;  // names of those that have ended and were not told of
    std::vector<ToRelease> releases_;
    std::deque<Notice> notices_;
    std::vector<Freed> freed_;
    // When to look whether a publisher has fallen silent. A renewal does not touch it: what comes up early is filed
    // again.
    struct SilenceCheck {
        std::string name;
        Token token = 0;
    };
    std::multimap<Instant, SilenceCheck> checks_;
    std::set<std::uint32_t> unreachable_;  // nodes
    HiddenAs hidden_as_;
};

}  // namespace holdfast::core
