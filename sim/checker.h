#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "authority/answers.h"
#include "sim/true_time.h"

namespace holdfast::sim {

/// A rule that was broken, and how.
struct Violation {
    std::string rule;
    std::string what;
};

/// The policy that was in force for a holder at a node when it got a request, or answered it.
struct PolicySeen {
    std::string holder;
    std::uint64_t applied = 0;  ///< of the log, there
    Duration ttl_max{};
    std::string ban;  ///< its reason, which no other ban has; empty: none
};

/// Checks the answers that holders get and what they believe, in true time, against the rules. It is independent of the
/// code that it checks.
class Checker {
 public:
    /// A lease as its holder knows it.
    struct Grant {
        std::string holder;
        std::string resource;
        lease::Predicate predicate = lease::Predicate::mutates;
        lease::Token token = 0;
        TrueInstant asked_at;          ///< when the request was sent
        TrueInstant told_at{};         ///< when the answer arrived
        TrueInstant believed_until{};  ///< T3, in true time; not after `told_at` if it never believed it
    };

    /// The highest token of all answered grants. The token of any later request must be above it (G3).
    lease::Token highest_token() const { return highest_token_; }

    /// A grant arrived. `floor` is highest_token() at the time when the request was sent.
    void granted(const Grant& grant, lease::Token floor);
    /// A renewal succeeded, or a verification found the lease active. The request was sent at `asked_at`.
    void found_active(const lease::LeaseName& name, TrueInstant asked_at);
    /// The holder believes that it holds the lease, again or for longer.
    void believes(const lease::LeaseName& name, TrueInstant from, TrueInstant until);
    void stops_believing(const lease::LeaseName& name, TrueInstant at);
    /// The answer to a release arrived.
    void released(const lease::LeaseName& name, TrueInstant told_at);
    /// A node granted or renewed a lease, under these policies at the beginning and at the end of the request.
    void allowed(const PolicySeen& before, const PolicySeen& after, const authority::HeldLease& held);
    /// An expected event is overdue.
    void overdue(const std::string& what) { fail("liveness", what); }
    /// Reports a violation found elsewhere. The first one counts.
    void fail(const std::string& rule, const std::string& what);

    const std::optional<Violation>& violation() const { return violation_; }
    std::uint64_t handovers() const { return handovers_; }

 private:
    struct Known {
        Grant grant;
        std::optional<TrueInstant> released_at;
        bool ever_believed = false;
    };
    using Place = std::map<lease::Token, Known>;

    Known* find(const lease::LeaseName& name);
    void check_alone(const Known& known, TrueInstant now);
    void check_order(const Place& place, const Known& known);
    bool overlapping(const std::string& a, const std::string& b);

    std::map<std::string, Place> places_;
    std::map<std::pair<std::string, std::string>, bool> overlaps_;
    lease::Token highest_token_ = 0;
    std::optional<Violation> violation_;
    std::uint64_t handovers_ = 0;
};

}  // namespace holdfast::sim
