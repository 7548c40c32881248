#include "authority/admission.h"

#include <algorithm>
#include <fmt/format.h>

namespace holdfast::authority {
namespace {

/// True for a resource that only its service may acquire. Any caller may acquire the leadership of a group.
bool is_anothers(lease::Owner owner, lease::Owner acts_for) {
    return owner != lease::Owner::nobody && owner != lease::Owner::leaders && owner != acts_for;
}

std::variant<lease::GrantedTtl, lease::RefusedTtl> ttl_for(const Admission::Applicant& applicant,
                                                           const lease::NamespacePolicy& policy) {
    if (applicant.exact && applicant.ttl) return lease::decide_exact_ttl(policy, *applicant.ttl);
    return lease::decide_ttl(policy, applicant.ttl);
}

}  // namespace

Refused refused_under(const lease::Policy& policy, Code code, std::string_view holder) {
    const auto ban = code == Code::banned ? policy.bans.find(holder) : policy.bans.end();
    if (ban == policy.bans.end() || ban->second.reason.empty()) return refused(code);
    return {code, fmt::format("{} (the admin's reason: {})", advice_of(code), ban->second.reason), {}};
}

std::variant<Admission::Terms, Refused> Admission::admit(const Applicant& applicant, Instant now) {
    if (stopping) return refused(Code::stopping);
    const Agent* agent = agent_of(applicant.holder, applicant.acts_for);
    if (agent != nullptr && agent->restarting) return refused(Code::agent_restarting);
    if (const auto owner = lease::owner_of(applicant.resource); is_anothers(owner, applicant.acts_for))
        return refused_by(owner);
    const lease::Policy& policy = policy_for(applicant.node);
    if (const auto code = lease::bar_to(policy, applicant.holder, applicant.resource))
        return refused_under(policy, *code, applicant.holder);
    const lease::NamespacePolicy settings = policy.of(applicant.resource);
    const auto decision = ttl_for(applicant, settings);
    if (const auto* ttl_refused = std::get_if<lease::RefusedTtl>(&decision)) return refused(ttl_refused->code);
    if (recovering(now)) return Refused{Code::recovering, recovering_why, recovering_until - now};
    if (memory_full && !applicant.node && !applicant.queued) {
        ++refused_for_memory;
        return Refused{Code::memory_full, {}, retry_when_full};
    }
    if (applicant.over_quota) return refused(Code::over_quota);
    const lease::GrantedTtl& ttl = std::get<lease::GrantedTtl>(decision);
    return Terms{.ttl = ttl.ttl,
                 .cut = ttl.cut,
                 .hold_max = settings.hold_max(),
                 .ttl_min = applicant.exact ? ttl.ttl : settings.ttl_min(),
                 .wait_max = settings.wait_max(),
                 .max_leases = settings.leases_per_holder_max()};
}

bool Admission::exceeds_quota(const std::vector<lease::LeaseName>& held, std::string_view resource,
                              std::size_t more) const {
    const std::size_t most = policy().of(resource).leases_per_holder_max();
    if (most == 0) return false;
    const std::string_view scope = policy().quota_scope(resource);
    const auto counted = std::count_if(held.begin(), held.end(), [&](const lease::LeaseName& name) {
        return policy().quota_scope(name.resource) == scope;
    });
    return static_cast<std::size_t>(counted) + more > most;
}

}  // namespace holdfast::authority
