#include "auth/access.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "lease/resource.h"

namespace holdfast::auth {
namespace {

bool is_unlimited(const Grant& grant) {
    return grant.verbs == Verbs::all() && covers_everywhere(grant) && covers_any_holder(grant);
}

std::vector<Grant> grants_of(const AuthState& state, const Principal& principal) {
    std::vector<Grant> grants;
    for (const std::string& name : principal.roles)
        for (const Grant& grant : state.role(name)->grants)
            if (std::find(grants.begin(), grants.end(), grant) == grants.end()) grants.push_back(grant);
    return grants;
}

}  // namespace

Access::Access(const AuthState& state, std::string_view principal) : version_(state.version()) {
    if (!state.enabled()) {
        *this = unrestricted(std::string(anonymous), state.version());
        return;
    }
    const Principal* known = state.principal(principal);
    if (known == nullptr) return;
    rights_ = std::make_shared<const Rights>(Rights{known->name, grants_of(state, *known)});
    for (const Grant& grant : rights_->grants) {
        verbs_ = verbs_.with(grant.verbs);
        unrestricted_ = unrestricted_ || is_unlimited(grant);
    }
}

Access Access::unrestricted(std::string principal, std::uint64_t version) {
    Access access;
    access.rights_ = std::make_shared<const Rights>(Rights{std::move(principal), {}});
    access.version_ = version;
    access.verbs_ = Verbs::all();
    access.unrestricted_ = true;
    return access;
}

const std::string& Access::principal() const {
    static const std::string nobody;
    return rights_ ? rights_->principal : nobody;
}

bool Access::covers(Verb verb, const Target& target) const {
    if (!verbs_.has(verb)) return false;
    const bool bound = as_a_holder.has(verb);
    const lease::SplitName name = lease::split_name(target.resource);
    for (const Grant& grant : rights_->grants) {
        if (!grant.verbs.has(verb) || !covers_resource(grant, name)) continue;
        if (!bound || covers_holder(grant, rights_->principal, target.holder)) return true;
    }
    return false;
}

bool Access::allows_namespace(Verb verb, std::string_view name_space) const {
    if (unrestricted_) return true;
    return verbs_.has(verb) && std::any_of(rights_->grants.begin(), rights_->grants.end(), [&](const Grant& grant) {
               return grant.verbs.has(verb) && covers_all_of(grant, name_space);
           });
}

bool Access::allows_everywhere(Verb verb) const {
    if (unrestricted_) return true;
    return verbs_.has(verb) && std::any_of(rights_->grants.begin(), rights_->grants.end(), [&](const Grant& grant) {
               return grant.verbs.has(verb) && covers_everywhere(grant);
           });
}

bool Access::may_act_as(Verb verb, std::string_view holder) const {
    if (unrestricted_) return true;
    return verbs_.has(verb) && std::any_of(rights_->grants.begin(), rights_->grants.end(), [&](const Grant& grant) {
               return grant.verbs.has(verb) && covers_holder(grant, rights_->principal, holder);
           });
}

Refusal Access::refusal(Verb verb, const Target& target) const {
    const lease::SplitName name = lease::split_name(target.resource);
    Refusal refusal{verb, std::string(name.name_space), std::string(name.resource)};
    if (as_a_holder.has(verb) && verbs_.has(verb) &&
        std::any_of(rights_->grants.begin(), rights_->grants.end(),
                    [&](const Grant& grant) { return grant.verbs.has(verb) && covers_resource(grant, name); }))
        refusal.holder = target.holder;
    return refusal;
}

Refusal Access::refusal_of_namespace(Verb verb, std::string_view name_space) {
    return {verb, std::string(name_space), {}};
}

Refusal Access::refusal_everywhere(Verb verb) {
    return {verb, "*", {}};
}

Refusal Access::refusal_as(Verb verb, std::string_view holder) {
    return {verb, "*", {}, std::string(holder)};
}

std::string message_of(const Refusal& refusal) {
    std::string text =
        fmt::format("this takes a grant of {} on namespace {}", name_of(refusal.verb), refusal.name_space);
    if (!refusal.prefix.empty()) text += fmt::format(" with a prefix of '{}'", excerpt(refusal.prefix));
    if (!refusal.holder.empty()) text += fmt::format(" that lets the principal act as '{}'", excerpt(refusal.holder));
    return text + "; ask an admin for it";
}

}  // namespace holdfast::auth
