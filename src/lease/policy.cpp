#include "lease/policy.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::lease {
namespace {

Error invalid_policy(std::string message) {
    return {std::string(name_of(Code::invalid_policy)), std::move(message)};
}

}  // namespace

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
    if (ttl_min < 1ms) return invalid_policy("ttl_min_ms must be at least 1");
    if (ttl_max < ttl_min) return invalid_policy("ttl_max_ms must not be below ttl_min_ms");
    if (ttl_max > limits::ttl_ceiling) return invalid_policy("ttl_max_ms must not be above a day");
    if (ttl_default < ttl_min || ttl_default > ttl_max)
        return invalid_policy("ttl_default_ms must lie between ttl_min_ms and ttl_max_ms");
    if (wait_max < Duration::zero() || wait_max > limits::wait_ceiling)
        return invalid_policy("wait_max_ms must not be above an hour");
    if (hold_max != Duration::zero() && hold_max < ttl_min)
        return invalid_policy("hold_max_ms must not be below ttl_min_ms");
    if (hold_max > limits::quota_ceiling) return invalid_policy("hold_max_ms must not be above a year");
    if (idle_max < Duration::zero() || idle_max > limits::quota_ceiling)
        return invalid_policy("idle_max_ms must not be above a year");
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
    if (!policy.name_pattern.matches(service ? resource.substr(services_prefix.size()) : resource))
        return Code::name_refused;
    return std::nullopt;
}

std::variant<GrantedTtl, RefusedTtl> decide_ttl(const Policy& policy, std::optional<Duration> asked) {
    const Duration ttl = asked.value_or(policy.ttl_default);
    if (ttl < policy.ttl_min) return RefusedTtl{Code::ttl_too_short};
    if (ttl <= policy.ttl_max) return GrantedTtl{ttl, false};
    if (policy.reject_above_max) return RefusedTtl{Code::ttl_too_long};
    return GrantedTtl{policy.ttl_max, true};
}

std::variant<GrantedTtl, RefusedTtl> decide_exact_ttl(const Policy& policy, Duration asked) {
    if (asked < 1ms) return RefusedTtl{Code::ttl_too_short};
    if (asked > policy.ttl_max) return RefusedTtl{Code::ttl_too_long};
    return GrantedTtl{asked, false};
}

}  // namespace holdfast::lease
