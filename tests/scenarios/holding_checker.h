#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease.h"
#include "lease/resource.h"

namespace holdfast::authority {

/// Watches what agents believe they hold, and says when two of them may not at once. It knows the rules only by their
/// words: which predicates go together, which names overlap, that tokens rise.
class HoldingChecker {
 public:
    struct Holding {
        std::string agent;
        std::string session;
        std::string resource;
        lease::Predicate predicate = lease::Predicate::mutates;
        lease::Token token = 0;
        Instant believed_until;  ///< T3: the agent itself stops here
    };

    void granted(const Holding& holding, Instant now);
    void renewed(const Holding& name, Instant believed_until);
    void let_go(const std::string& resource, lease::Token token);

    /// From now on nobody else may be granted what conflicts with it, until the agent is back or `until` (R5).
    void reserved(const Holding& holding, Instant until);

    std::optional<std::string> violation() const { return violation_; }

 private:
    struct Place {
        std::map<lease::Token, Holding> held;
        std::map<lease::Token, Holding> kept;  // reserved; believed_until is the end
        std::optional<lease::FilePath> path;
        lease::Token last_token = 0;
    };

    Place& place(const std::string& resource);
    void check(const Place& place, const Holding& holding, Instant now);
    void fail(const std::string& what, const Holding& a, const Holding& b);

    std::map<std::string, Place> places_;
    std::optional<std::string> violation_;
};

}  // namespace holdfast::authority
