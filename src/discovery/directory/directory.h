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

namespace holdfast::discovery::directory {

/// A service as consumers see it (D2).
struct ServiceEntry {
    std::string name;
    std::string identity;
    lease::Token token = 0;
    std::string address;
    std::vector<std::string> alpn;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::int64_t first_seen_ms = 0;  ///< this and last_seen_ms: wall clock, for display
    std::int64_t last_seen_ms = 0;
    Duration expires_in{};
    bool connected = false;  ///< to the relay at `relay`, and heard from; otherwise it is stale (D4)
    std::string relay;       ///< empty without a connection, or if the relay's node cannot be reached
};
struct ServicePage {
    std::vector<ServiceEntry> services;  ///< by name
    std::string next{};                  ///< `after` for the next page; empty: last page. A page may be short or empty
};
struct ServiceQuery {
    std::string name_glob{};  ///< empty: all
    std::string after{};
    std::size_t limit = 100;
};

/// An unsolicited message to a connected publisher: a lease of its connection is gone, and why.
struct Withdrawal {
    std::uint64_t connection = 0;
    std::string name;
    lease::Token token = 0;
    Code code;
    std::string message{};  ///< details, if the code is not enough
};

/// An unsolicited message to a connected publisher: a refused request may now succeed. Retry at a random time within
/// `within`.
struct RetryNotice {
    std::uint64_t connection = 0;
    std::string name;
    Duration within{};
};

/// The directory of named services (D1-D4): verifies signed updates, keeps advertisements as leases, and answers
/// consumers.
///
/// Uses the authority, so it runs on every store. Runs on the authority's thread and reads no clock: it uses the
/// authority's time.
class Directory {
 public:
    struct Parts {
        authority::Authority& authority;
        std::uint64_t relay = 0;   ///< incarnation id of this relay: random, unique for each start
        std::int64_t wall_ms = 0;  ///< the wall clock at `started_at`; the relay's clock continues from there
        Instant started_at{};
        std::uint64_t seed = 0;                               ///< for the generated names of unnamed services
        std::function<void(const Withdrawal&)> withdraw{};    ///< see Withdrawal; may be empty
        std::function<void(const RetryNotice&)> may_retry{};  ///< see RetryNotice; may be empty
        std::uint32_t node = 0;  ///< this node's number in the cluster, counted from 1; 0: no cluster
    };
    explicit Directory(Parts parts);
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    /// The address at which consumers reach the services connected here: HOST:PORT, set once the relay's door is open.
    void relay_address(std::string address);
    const std::string& relay_address() const;  ///< empty: no relay is open here
    std::uint64_t relay() const;
    std::int64_t relay_time_ms() const;

    /// If `caller.connection` is not zero, the lease ends with that connection (R8). The reply is called once, now or
    /// later. The caller matches it to the message: the response's `number` is not set.
    void update(const SignedUpdate& update, const authority::Caller& caller, Callback<UpdateResponse> reply);
    /// For JSON over HTTP: the signature is over these bytes, which encode the same as `update`.
    struct SignedText {
        std::string_view text;
        std::string_view public_key;
        std::string_view signature;
    };
    void update(const Update& update, const SignedText& signed_by, const authority::Caller& caller,
                Callback<UpdateResponse> reply);

    /// The connection has closed: releases every lease that was registered over it.
    void connection_closed(std::uint64_t connection);

    /// The publisher refused a stream because it does not serve this name: the entry is stale until it renews.
    void not_served(std::string_view name, std::uint64_t connection);
    /// Another node of the cluster has become unreachable from here, or reachable again.
    void node_is(std::uint32_t node, bool reachable);

    /// Code::unknown_service if there is no such service, or it is hidden by a ban or a name rule.
    void find(std::string name, Callback<authority::Answer<ServiceEntry>> reply);
    /// Answers at once, except right after a start: then once the store has been read.
    void list(ServiceQuery query, Callback<authority::Answer<ServicePage>> reply);

    /// The connection here that serves the name; nullopt if the publisher is not connected here. A relay calls this for
    /// every stream, so it costs one lookup.
    struct Served {
        std::uint64_t connection = 0;
        std::string name;  ///< normalised
        std::string identity;
        lease::Token token = 0;
    };
    std::optional<Served> served(std::string_view name) const;

    /// True if an admin banned the address, by itself or by a prefix.
    bool address_banned(std::string_view address) const;
    /// The admin's reason for that ban, for the banned client; empty if none was given.
    std::string reason_of_address_ban(std::string_view address) const;

    /// Identities that were refused because they are not approved, latest last. At the limit, the oldest are dropped.
    struct Waiting {
        std::string identity;
        std::string name;
        std::string address;
        std::int64_t last_seen_ms = 0;
    };
    std::vector<Waiting> awaiting_approval() const;

    /// Called for every change from now on, until unwatch(). For `gone`, the entry is the last known one.
    enum class Change : std::uint8_t { registered, updated, gone };
    using Watcher = std::function<void(Change change, const ServiceEntry& entry)>;
    /// Returns 0 if the limit of watchers is reached.
    std::uint64_t watch(Watcher watcher);
    void unwatch(std::uint64_t watch);

    /// Processes changes made by other nodes, and expires nonces and identities that wait for approval.
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
    std::shared_ptr<Impl> impl_;  // shared: the store may answer after the directory is destroyed
};

}  // namespace holdfast::discovery::directory
