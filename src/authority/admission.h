#pragma once

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

/// Decides whether a claim may be granted at all, and on which terms, as far as that does not depend on its record: by
/// the state of the server (S1), the holder's agent (G5, R5) and the policy (R7, G4).
class Admission {
 public:
    /// A request for one resource, alone or as part of a manifest.
    struct Applicant {
        std::string_view resource;  ///< the full name
        std::string_view holder;
        lease::Owner acts_for = lease::Owner::nobody;
        bool node = false;
        std::optional<Duration> ttl{};
        bool exact = false;       ///< grant exactly this TTL or refuse (decide_exact_ttl)
        bool queued = false;      ///< it has a place in the queues, so it needs no more memory
        bool over_quota = false;  ///< its holder has as many leases as it may have (R6)
    };
    /// The terms of a grant.
    struct Terms {
        Duration ttl{};
        bool cut = false;                ///< `ttl` is shorter than requested
        Duration hold_max{}, ttl_min{};  ///< as in Claim
        Duration wait_max{};
        std::size_t max_leases = 0;  ///< per holder (R6); zero: no limit
    };

    Admission(const CurrentPolicy& policy, const Agents& agents) : policy_(policy), agents_(agents) {}

    std::variant<Terms, Refused> admit(const Applicant& applicant, Instant now);

    /// R6: whether `more` leases of this resource's namespace are too many for a holder that has these.
    bool exceeds_quota(const std::vector<lease::LeaseName>& held, std::string_view resource, std::size_t more) const;
    const lease::Policy& policy() const { return policy_.policy(); }

    /// The holder's agent. Anyone may register an agent under the name of a drone or a node; a service's own request
    /// must not depend on that.
    const Agent* agent_of(std::string_view holder, lease::Owner acts_for) const {
        return acts_for == lease::Owner::nobody ? agents_.find(holder) : nullptr;
    }

    /// The nodes' own lease must not depend on a policy that can be changed only through that lease. So the nodes' own
    /// requests are judged by the default policy (L1).
    const lease::Policy& policy_for(bool node) const { return node ? unchanged_ : policy_.policy(); }

    bool recovering(Instant now) const { return now < recovering_until; }

    // The state of the server.
    bool stopping = false;
    bool memory_full = false;
    Instant recovering_until;              ///< S1: nothing is granted before this
    std::string recovering_why;            ///< for people
    std::uint64_t refused_for_memory = 0;  ///< the number of claims

 private:
    const CurrentPolicy& policy_;
    const Agents& agents_;
    const lease::Policy unchanged_;
};

}  // namespace holdfast::authority
