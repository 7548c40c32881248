#include "lease/policy.h"

#include <algorithm>
#include <fmt/format.h>
#include <re2/re2.h>

#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/resource.h"

namespace holdfast::lease {
namespace {

/// What the services' own namespaces inherit of the pattern and the quotas: no limit.
const PolicySettings no_quotas{};

Error invalid_policy(std::string message) {
    return {Code::invalid_policy, std::move(message)};
}

Result<void> check_settings(const NamespacePolicy& policy) {
    if (policy.ttl_min() < 1ms) return invalid_policy("ttl_min_ms must be at least 1");
    if (policy.ttl_max() < policy.ttl_min()) return invalid_policy("ttl_max_ms must not be below ttl_min_ms");
    if (policy.ttl_max() > limits::ttl_ceiling) return invalid_policy("ttl_max_ms must not be above a day");
    if (policy.ttl_default() < policy.ttl_min() || policy.ttl_default() > policy.ttl_max())
        return invalid_policy("ttl_default_ms must lie between ttl_min_ms and ttl_max_ms");
    if (policy.wait_max() < Duration::zero() || policy.wait_max() > limits::wait_ceiling)
        return invalid_policy("wait_max_ms must not be above an hour");
    if (policy.hold_max() != Duration::zero() && policy.hold_max() < policy.ttl_min())
        return invalid_policy("hold_max_ms must not be below ttl_min_ms");
    if (policy.hold_max() > limits::quota_ceiling) return invalid_policy("hold_max_ms must not be above a year");
    if (policy.idle_max() < Duration::zero() || policy.idle_max() > limits::quota_ceiling)
        return invalid_policy("idle_max_ms must not be above a year");
    return {};
}

Result<void> check_policy_namespace(std::string_view name) {
    if (auto checked = check_namespace(name); !checked) return invalid_policy(checked.error().message);
    if (name.empty() || name == default_namespace)
        return invalid_policy("the default namespace has the settings that the others inherit");
    if (name.starts_with('~') && name != keys_namespace && name != services_namespace)
        return invalid_policy("of the reserved namespaces only ~keys and ~services have a policy");
    return {};
}

/// Calls `visit` for each setting of the overrides, as an optional.
template <class Overrides, class Visit>
auto at_setting(Overrides& overrides, PolicySetting setting, const Visit& visit) {
    switch (setting) {
        case PolicySetting::ttl_min:
            return visit(overrides.ttl_min);
        case PolicySetting::ttl_max:
            return visit(overrides.ttl_max);
        case PolicySetting::ttl_default:
            return visit(overrides.ttl_default);
        case PolicySetting::reject_above_max:
            return visit(overrides.reject_above_max);
        case PolicySetting::wait_max:
            return visit(overrides.wait_max);
        case PolicySetting::name_pattern:
            return visit(overrides.name_pattern);
        case PolicySetting::hold_max:
            return visit(overrides.hold_max);
        case PolicySetting::idle_max:
            return visit(overrides.idle_max);
        case PolicySetting::leases_per_holder_max:
            break;
    }
    return visit(overrides.leases_per_holder_max);
}

/// The name of a resource in the namespace that its policy is for.
std::string_view name_in_namespace(std::string_view full_name) {
    const std::string_view name = split_name(full_name).resource;
    return owner_of(full_name) == Owner::keys ? name.substr(detail::key_prefix.size()) : name;
}

bool name_matches(const Policy& policy, std::string_view resource) {
    if (policy.name_pattern.text().empty() && policy.namespaces.empty()) return true;  // as for most servers
    const NamespacePolicy settings = policy.of(resource);
    const bool own = settings.sets(PolicySetting::name_pattern);
    return settings.name_pattern().matches(own ? name_in_namespace(resource) : resource);
}

}  // namespace

bool PolicyOverrides::sets(PolicySetting setting) const {
    return at_setting(*this, setting, [](const auto& value) { return value.has_value(); });
}

void PolicyOverrides::unset(PolicySetting setting) {
    at_setting(*this, setting, [](auto& value) { value.reset(); });
}

bool PolicyOverrides::empty() const {
    for (int i = 0; i <= static_cast<int>(PolicySetting::leases_per_holder_max); ++i)
        if (sets(static_cast<PolicySetting>(i))) return false;
    return true;
}

std::string_view policy_namespace(std::string_view full_name) {
    return owner_of(full_name) == Owner::keys ? keys_namespace : split_name(full_name).name_space;
}

NamespacePolicy Policy::of_namespace(std::string_view name_space) const {
    const bool of_service = name_space == keys_namespace || name_space == services_namespace;
    const PolicySettings& quotas = of_service ? no_quotas : *this;
    const auto found = namespaces.find(name_space);
    return {*this, quotas, found != namespaces.end() ? &found->second : nullptr};
}

Duration Policy::longest_ttl() const {
    Duration longest = ttl_max;
    for (const auto& [name, own] : namespaces)
        longest = std::max(longest, own.ttl_max.value_or(Duration::zero()));
    return longest;
}

void Policy::cap_ttls(Duration longest) {
    for (Duration* ttl : {&ttl_min, &ttl_max, &ttl_default})
        *ttl = std::min(*ttl, longest);
    for (auto& [name, own] : namespaces)
        for (std::optional<Duration>* ttl : {&own.ttl_min, &own.ttl_max, &own.ttl_default})
            if (*ttl) *ttl = std::min(**ttl, longest);
}

std::string_view Policy::quota_scope(std::string_view full_name) const {
    const std::string_view name_space = policy_namespace(full_name);
    const bool of_service = name_space == keys_namespace || name_space == services_namespace;
    const bool own = of_namespace(name_space).sets(PolicySetting::leases_per_holder_max);
    return own || of_service ? name_space : default_namespace;
}

Result<NamePattern> NamePattern::compile(std::string text) {
    NamePattern pattern;
    if (text.empty()) return pattern;
    if (text.size() > limits::pattern_bytes)
        return invalid_policy(fmt::format("name_pattern is longer than {} bytes", limits::pattern_bytes));
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto compiled = std::make_shared<RE2>(text, options);
    if (!compiled->ok()) return invalid_policy("name_pattern does not compile: " + compiled->error());
    pattern.text_ = std::move(text);
    pattern.compiled_ = std::move(compiled);
    return pattern;
}

bool NamePattern::matches(std::string_view name) const {
    if (!compiled_) return true;
    return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

Result<void> Policy::check() const {
    if (auto checked = check_settings(*this); !checked) return checked;
    if (namespaces.size() > limits::policy_namespaces)
        return invalid_policy("the limit on the number of namespaces with a policy is reached; let some inherit all");
    for (const auto& [name, own] : namespaces) {
        auto checked = check_policy_namespace(name);
        if (checked) checked = check_settings(of_namespace(name));
        if (!checked) return invalid_policy(fmt::format("namespace {}: {}", name, checked.error().message));
    }
    if (bans.size() > limits::bans) return invalid_policy("the limit on the number of bans is reached; lift some");
    if (approved.size() > limits::approvals)
        return invalid_policy("the limit on the number of approvals is reached; withdraw some");
    if (name_rules.size() > limits::name_rules)
        return invalid_policy("the limit on the number of rules for service names is reached; lift some");
    return {};
}

const NameRule* name_denial(const Policy& policy, std::string_view identity, std::string_view name) {
    if (policy.name_rules.empty()) return nullptr;
    const NameRule* reserved_for_others = nullptr;
    auto rule = policy.name_rules.lower_bound({std::string(name), {}});
    for (; rule != policy.name_rules.end() && rule->first.name == name; ++rule) {
        const bool own = rule->first.identity == identity;
        if (rule->second.kind == NameRule::Kind::denied) {
            if (own || rule->first.identity.empty()) return &rule->second;
        } else if (own) {
            // A rule that denies the name to all identities sorts first, so it was checked already.
            return nullptr;
        } else {
            reserved_for_others = &rule->second;
        }
    }
    return reserved_for_others;
}

std::optional<Code> bar_to(const Policy& policy, std::string_view holder, std::string_view resource) {
    if (!policy.bans.empty() && policy.bans.find(holder) != policy.bans.end()) return Code::banned;
    const bool service = is_service(resource);
    if (service && policy.approval == Approval::manual && !policy.approved.contains(holder))
        return Code::awaiting_approval;
    if (service && name_denial(policy, holder, resource.substr(services_prefix.size())) != nullptr)
        return Code::name_denied;
    if (!name_matches(policy, resource)) return Code::name_refused;
    return std::nullopt;
}

std::variant<GrantedTtl, RefusedTtl> decide_ttl(const NamespacePolicy& policy, std::optional<Duration> asked) {
    const Duration ttl = asked.value_or(policy.ttl_default());
    if (ttl < policy.ttl_min()) return RefusedTtl{Code::ttl_too_short};
    if (ttl <= policy.ttl_max()) return GrantedTtl{ttl, false};
    if (policy.reject_above_max()) return RefusedTtl{Code::ttl_too_long};
    return GrantedTtl{policy.ttl_max(), true};
}

std::variant<GrantedTtl, RefusedTtl> decide_exact_ttl(const NamespacePolicy& policy, Duration asked) {
    if (asked < 1ms) return RefusedTtl{Code::ttl_too_short};
    if (asked > policy.ttl_max()) return RefusedTtl{Code::ttl_too_long};
    return GrantedTtl{asked, false};
}

}  // namespace holdfast::lease
