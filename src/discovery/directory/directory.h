#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "discovery/protocol.h"

namespace holdfast::core {

/// A service as consumers see it (D2).
struct ServiceEntry {
    std::string name;
    std::string identity;
    Token token = 0;
    std::string address;
    std::vector<std::string> alpn;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::int64_t first_seen_ms = 0;  ///< these two on the wall clock, for display
    std::int64_t last_seen_ms = 0;
    Duration expires_in{};
    bool connected = false;  ///< to the relay at `relay`, and heard of; otherwise it is stale (D4)
    std::string relay;       ///< empty if it has no connection, or only to a relay whose node cannot be reached
};
struct ServicePage {
    std::vector<ServiceEntry> services;  ///< by name
    std::string next{};  ///< `after` of the page that follows; empty: there is none. A page may be short, or empty
};
struct ServiceQuery {
    std::string name_glob{};  ///< empty: all
    std::string after{};
    std::size_t limit = 100;
};

/// What a connected publisher is told without having asked: a lease of its connection is gone, and why.
struct Withdrawal {
    std::uint64_t connection = 0;
    std::string name;
    Token token = 0;
    std::string code;
    std::string message{};  ///< where the code does not say enough
};

/// What a connected publisher is told when what it was refused may be granted: ask again, at random within this time.
struct RetryNotice {
    std::uint64_t connection = 0;
    std::string name;
    Duration within{};
};

/// Services under names (D1-D4): judges signed updates, keeps what they advertise as leases, and tells consumers.
///
/// Over the authority, so that it runs on every store. Runs on the authority's thread and reads no clock; the time of
/// the authority is its time.
class Directory {
 public:
    struct Parts {
        Authority& authority;
        std::uint64_t relay = 0;   ///< names this life of this relay: random, never the same twice
        std::int64_t wall_ms = 0;  ///< the wall clock at `started_at`: the relay's clock counts on from there
        Instant started_at{};
        std::uint64_t seed = 0;                               ///< of the names of services that have none
        std::function<void(const Withdrawal&)> withdraw{};    ///< see Withdrawal; may be empty
        std::function<void(const RetryNotice&)> may_retry{};  ///< see RetryNotice; may be empty
        std::uint32_t node = 0;  ///< which node of the cluster this is, counted from 1; 0: of none
    };
    explicit Directory(Parts parts);
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    /// Where consumers ask for what is connected here: HOST:PORT, once the relay's door is open.
    void relay_address(std::string address);
    const std::string& relay_address() const;  ///< empty: no relay is open here
    std::uint64_t relay() const;
    std::int64_t relay_time_ms() const;

    /// `caller.connection` other than zero: the lease ends with that connection (R8). The reply comes once, now or
    /// later.
    void update(const discovery::SignedUpdate& update, const Caller& caller, Callback<discovery::UpdateResponse> reply);
    /// As JSON over HTTP: the signature is over these bytes, which say the same as `update`.
    struct SignedText {
        std::string_view text;
        std::string_view public_key;
        std::string_view signature;
    };
    void update(const discovery::Update& update, const SignedText& signed_by, const Caller& caller,
                Callback<discovery::UpdateResponse> reply);

    /// The connection is gone, and with it every lease that was registered over it.
    void connection_closed(std::uint64_t connection);

    /// The publisher said that it does not serve what the relay believes it does: stale until it renews.
    void not_served(std::string_view name, std::uint64_t connection);
    /// Another node of the cluster cannot be reached from here, or can be again.
    void node_is(std::uint32_t node, bool reachable);

    /// Code::unknown_service if there is none, or it is hidden by a ban.
    void find(std::string name, Callback<Answer<ServiceEntry>> reply);
    /// Answers at once, but for the first moments of a life, until what is in the store is known.
    void list(ServiceQuery query, Callback<Answer<ServicePage>> reply);

    /// Which connection here serves the name; what a relay asks for every stream, so it costs one look-up. Nothing if
    /// the publisher is not connected here.
    struct Served {
        std::uint64_t connection = 0;
        std::string name;  ///< normalised
        std::string identity;
        Token token = 0;
    };
    std::optional<Served> served(std::string_view name) const;

    /// True if an admin banned the address, alone or by a prefix.
    bool address_banned(std::string_view address) const;
    /// What the admin said about that, for the one that comes from there; empty if nothing.
    std::string reason_of_address_ban(std::string_view address) const;

    /// Those who were refused for want of an approval, latest last; the oldest make room.
    struct Waiting {
        std::string identity;
        std::string name;
        std::string address;
        std::int64_t last_seen_ms = 0;
    };
    std::vector<Waiting> awaiting_approval() const;

    /// Every change from now on, until unwatch(). The entry is as it was last known when it is `gone`.
    enum class Change : std::uint8_t { registered, updated, gone };
    using Watcher = std::function<void(Change change, const ServiceEntry& entry)>;
    /// 0 if there are as many as there may be.
    std::uint64_t watch(Watcher watcher);
    void unwatch(std::uint64_t watch);

    /// For what came from elsewhere since, and what it forgets in time: nonces and those that wait for approval.
    void advance(Instant now);
    Instant next_due() const;

    struct Counts {
        std::size_t connected = 0;  ///< services whose publisher is connected here
        std::size_t awaiting = 0;
        std::uint64_t updates = 0;
        std::uint64_t refused = 0;
    };
    Counts counts() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;  // shared: answers of the store may come when the directory is gone
};

}  // namespace holdfast::core
