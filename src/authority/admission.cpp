#include "authority/admission.h"

#include <fmt/format.h>

namespace holdfast::authority {
namespace {

std::optional<TtlCut> cut_from(std::optional<Duration> asked, const lease::GrantedTtl& granted) {
    if (!granted.cut || !asked) return std::nullopt;
    return TtlCut{*asked, granted.ttl};
}

/// Refuses a resource that only its service may acquire. Any caller may acquire the leadership of a group.
std::optional<Refused> not_for(const Caller& caller, std::string_view resource) {
    const lease::Owner owner = lease::owner_of(resource);
    if (owner == lease::Owner::nobody || owner == lease::Owner::leaders || owner == caller.acts_for)
        return std::nullopt;
    return refused_by(owner);
}

}  // namespace

Refused refused_under(const lease::Policy& policy, Code code, std::string_view holder) {
    const auto ban = code == Code::banned ? policy.bans.find(holder) : policy.bans.end();
    if (ban == policy.bans.end() || ban->second.reason.empty()) return refused(code);
    return {code, fmt::format("{} (the admin's reason: {})", advice_of(code), ban->second.reason), {}};
}

std::variant<Admission::Terms, Refused> Admission::terms_for(const AcquireRequest& request, Instant now) {
    if (stopping) return refused(Code::stopping);
    if (const auto stale = agents_.see(request.holder, request.epoch, now)) return refused(*stale);
    const Agent* agent = agents_.find(request.holder);
    // Anyone may register an agent under the name of a drone or a node; a service's own request must not depend on
    // that.
    const bool is_service = request.caller.acts_for != lease::Owner::nobody;
    if (agent != nullptr && agent->restarting && !is_service) return refused(Code::agent_restarting);
    const lease::Policy& policy = policy_for(request.caller);
    for (const lease::Intent& intent : request.intents) {
        if (const auto refusal = not_for(request.caller, intent.resource)) return *refusal;
        if (const auto code = lease::bar_to(policy, request.holder, intent.resource))
            return refused_under(policy, *code, request.holder);
    }
    const auto decision = lease::decide_ttl(policy, request.ttl);
    if (const auto* ttl_refused = std::get_if<lease::RefusedTtl>(&decision)) return refused(ttl_refused->code);
    if (recovering(now)) return Refused{Code::recovering, recovering_why, recovering_until - now};
    const lease::GrantedTtl& ttl = std::get<lease::GrantedTtl>(decision);
    return Terms{.ttl = ttl.ttl,
                 .ttl_cut = cut_from(request.ttl, ttl),
                 .wait = std::min(request.wait, policy.wait_max),
                 .hold_max = policy.hold_max,
                 .ttl_min = policy.ttl_min,
                 .max_leases = policy.leases_per_holder_max,
                 .full = memory_full && !request.caller.node};
}

}  // namespace holdfast::authority
