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

/// Watches what holders are told and what they believe, in true time, and says when that cannot be right. It knows the
/// rules by their words only: none of the code it judges has a part in it.
class Checker {
 public:
    /// A lease as its holder heard of it.
    struct Grant {
        std::string holder;
        std::string resource;
        Predicate predicate = Predicate::mutates;
        Token token = 0;
        TrueInstant asked_at;          ///< when the request was sent
        TrueInstant told_at{};         ///< when the answer arrived
        TrueInstant believed_until{};  ///< T3, in true time; not after `told_at` if it never believed
    };

    /// The highest token of any grant that was answered by now: one that is asked for from now on must be above (G3).
    Token highest_token() const { return highest_token_; }

    /// An answer came. `floor` is highest_token() of when the request was sent.
    void granted(const Grant& grant, Token floor);
    /// A renewal, or a verification that found it active, which was sent at `asked_at`.
    void found_active(const LeaseName& name, TrueInstant asked_at);
    /// The holder goes on believing, or begins to.
    void believes(const LeaseName& name, TrueInstant from, TrueInstant until);
    void stops_believing(const LeaseName& name, TrueInstant at);
    /// The answer to a release came.
    void released(const LeaseName& name, TrueInstant told_at);
    /// A node granted or renewed it, under these policies at the beginning and at the end.
    void allowed(const PolicySeen& before, const PolicySeen& after, const HeldLease& held);
    /// Something that should have happened by now has not.
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
    using Place = std::map<Token, Known>;

    Known* find(const LeaseName& name);
    void check_alone(const Known& known, TrueInstant now);
    void check_order(const Place& place, const Known& known);
    bool overlapping(const std::string& a, const std::string& b);

    std::map<std::string, Place> places_;
    std::map<std::pair<std::string, std::string>, bool> overlaps_;
    Token highest_token_ = 0;
    std::optional<Violation> violation_;
    std::uint64_t handovers_ = 0;
};

}  // namespace holdfast::sim
