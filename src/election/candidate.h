#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "authority/authority.h"

namespace holdfast::election {

/// The resource whose holder leads a group (L1).
std::string leader_resource(std::string_view group);

/// A candidate for the leadership of a group: acquires the lease `leader:GROUP` whenever it is free, renews it at a
/// third of its TTL, and reports when it begins and ceases to lead. It ceases by its own clock, counted from when it
/// sent the request (T3), with or without an answer.
///
/// For a candidate in the same process as its authority, such as the log of a node. Other programs use the client.
class Candidate {
 public:
    struct Parts {
        authority::Authority& authority;
        std::string group;
        std::string id;
        Duration ttl = 10s;
        bool node = false;  ///< the candidate is the node itself: the policy does not apply (L1)
        std::function<void(lease::Token term)> on_lead;
        std::function<void()> on_cease;
    };
    explicit Candidate(Parts parts);
    ~Candidate();
    Candidate(const Candidate&) = delete;
    Candidate& operator=(const Candidate&) = delete;

    /// Sets the time. Call it whenever next_due() is reached. The candidacy begins with the first call.
    void advance(Instant now);
    Instant next_due() const;

    /// The term it leads in; nullopt if it does not lead.
    std::optional<lease::Token> term() const;
    /// Ends the candidacy and releases the lease.
    void withdraw();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::election
