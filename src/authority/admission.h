#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "authority/agents.h"
#include "authority/answers.h"
#include "authority/current_policy.h"
#include "authority/requests.h"

namespace holdfast::authority {

/// A refusal by the policy. For a ban it includes the admin's reason, so that the banned holder sees it.
Refused refused_under(const lease::Policy& policy, Code code, std::string_view holder);

/// Decides whether a request may be granted at all, and on which terms, as far as that does not depend on a record: by
/// the state of the server (S1), the holder's agent (G5, R5) and the policy (R7, G4).
class Admission {
 public:
    /// The terms of a grant.
    struct Terms {
        Duration ttl{};
        std::optional<TtlCut> ttl_cut;
        Duration wait{};
        Duration hold_max{}, ttl_min{};
        std::size_t max_leases = 0;  ///< per holder (R6); zero: no limit
        bool full = false;           ///< no memory for requests that are not queued yet
    };

    Admission(const CurrentPolicy& policy, Agents& agents) : policy_(policy), agents_(agents) {}

    /// Counts as a request of the holder (Agents::see()).
    std::variant<Terms, Refused> terms_for(const AcquireRequest& request, Instant now);

    /// The nodes' own lease must not depend on a policy that can be changed only through that lease. So the nodes' own
    /// requests are judged by the default policy (L1).
    const lease::Policy& policy_for(const Caller& caller) const { return caller.node ? unchanged_ : policy_.policy(); }

    bool recovering(Instant now) const { return now < recovering_until; }

    // The state of the server.
    bool stopping = false;
    bool memory_full = false;
    Instant recovering_until;    ///< S1: nothing is granted before this
    std::string recovering_why;  ///< for people

 private:
    const CurrentPolicy& policy_;
    Agents& agents_;
    const lease::Policy unchanged_;
};

}  // namespace holdfast::authority
