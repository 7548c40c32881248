#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "base/code.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

namespace re2 {
class RE2;
}

namespace holdfast::lease {

/// A pattern that the whole name of a resource must match; empty matches everything. RE2: linear time for any pattern.
class NamePattern {
 public:
    NamePattern() = default;
    /// Error code `invalid_policy` if it is too long or does not compile.
    static Result<NamePattern> compile(std::string text);

    bool matches(std::string_view name) const;
    const std::string& text() const { return text_; }

 private:
    std::string text_;
    std::shared_ptr<const re2::RE2> compiled_;  // shared: a policy is copied when it is changed
};

struct Ban {
    std::string reason;
    std::int64_t since_wall_ms = 0;  ///< for display
};

/// The subject of a name rule: a service name and one identity, or all identities if `identity` is empty.
struct NameRuleKey {
    std::string name;
    std::string identity;

    auto operator<=>(const NameRuleKey&) const = default;
};
/// An admin's rule for a service name. Denied: the identity may not use it. Reserved: only the identities it is
/// reserved for may use it, unless they are denied.
struct NameRule {
    enum class Kind : std::uint8_t { denied, reserved };
    Kind kind = Kind::denied;
    std::string reason;
    std::int64_t since_wall_ms = 0;  ///< for display

    bool operator==(const NameRule&) const = default;
};

/// Who may advertise services: every identity that is not banned, or only approved ones.
enum class Approval : std::uint8_t { automatic, manual };

/// The settings that each namespace has.
struct PolicySettings {
    Duration ttl_min = 1s;
    Duration ttl_max = 5min;
    Duration ttl_default = 60s;
    bool reject_above_max = false;  ///< false: a TTL above the maximum is cut to it (G4)
    Duration wait_max = 5min;
    NamePattern name_pattern;
    Duration hold_max{};                    ///< R6: how long one holder may keep one resource; zero: no limit
    Duration idle_max{};                    ///< R6: how long a progress counter may stand still; zero: no limit
    std::size_t leases_per_holder_max = 0;  ///< R6; zero: no limit
};

enum class PolicySetting : std::uint8_t {
    ttl_min,
    ttl_max,
    ttl_default,
    reject_above_max,
    wait_max,
    name_pattern,
    hold_max,
    idle_max,
    leases_per_holder_max
};

/// The settings that a namespace has of its own. What is unset is inherited.
struct PolicyOverrides {
    std::optional<Duration> ttl_min{}, ttl_max{}, ttl_default{};
    std::optional<bool> reject_above_max{};
    std::optional<Duration> wait_max{};
    std::optional<NamePattern> name_pattern{};
    std::optional<Duration> hold_max{}, idle_max{};
    std::optional<std::size_t> leases_per_holder_max{};

    bool sets(PolicySetting setting) const;
    void unset(PolicySetting setting);
    bool empty() const;
};

/// The namespaces of the leases that belong to the server's services (lease/owner.h). They inherit the TTLs and the
/// longest wait, but neither the pattern nor the quotas, which are meant for people (R7).
inline constexpr std::string_view keys_namespace = "~keys";  ///< of the policy: the keys of all namespaces
inline constexpr std::string_view services_namespace = "~services";

/// The namespace whose policy a resource is under.
std::string_view policy_namespace(std::string_view full_name);

struct Policy;

/// The settings in force for one namespace: its own, and the inherited ones for the rest. A view of a policy.
class NamespacePolicy {
 public:
    /// Of the default namespace. REQUIRES: the policy outlives this.
    NamespacePolicy(const Policy& policy);  // NOLINT: a policy without a namespace is that of the default one

    Duration ttl_min() const { return own(&PolicyOverrides::ttl_min, inherited_->ttl_min); }
    Duration ttl_max() const { return own(&PolicyOverrides::ttl_max, inherited_->ttl_max); }
    Duration ttl_default() const { return own(&PolicyOverrides::ttl_default, inherited_->ttl_default); }
    bool reject_above_max() const { return own(&PolicyOverrides::reject_above_max, inherited_->reject_above_max); }
    Duration wait_max() const { return own(&PolicyOverrides::wait_max, inherited_->wait_max); }
    const NamePattern& name_pattern() const { return own(&PolicyOverrides::name_pattern, quotas_->name_pattern); }
    Duration hold_max() const { return own(&PolicyOverrides::hold_max, quotas_->hold_max); }
    Duration idle_max() const { return own(&PolicyOverrides::idle_max, quotas_->idle_max); }
    std::size_t leases_per_holder_max() const {
        return own(&PolicyOverrides::leases_per_holder_max, quotas_->leases_per_holder_max);
    }

    bool sets(PolicySetting setting) const { return own_ != nullptr && own_->sets(setting); }

 private:
    friend struct Policy;
    NamespacePolicy(const PolicySettings& inherited, const PolicySettings& quotas, const PolicyOverrides* own)
        : inherited_(&inherited), quotas_(&quotas), own_(own) {}

    template <class T>
    const T& own(std::optional<T> PolicyOverrides::*setting, const T& inherited) const {
        return own_ != nullptr && own_->*setting ? *(own_->*setting) : inherited;
    }

    const PolicySettings* inherited_;
    const PolicySettings* quotas_;  ///< for pattern and quotas
    const PolicyOverrides* own_;
};

/// The limits and permissions that an admin sets (R7). Durable. Every acquire and every renewal is checked against all
/// of it. Its settings are those of the default namespace, which the others inherit.
struct Policy : PolicySettings {
    std::map<std::string, PolicyOverrides, std::less<>> namespaces;  ///< never the default one
    std::map<std::string, Ban, std::less<>> bans;  ///< by holder, or by IP address or prefix (lease/ip_prefix.h)
    Approval approval = Approval::automatic;
    std::set<std::string, std::less<>> approved;  ///< identities; kept also while approval is automatic
    std::map<NameRuleKey, NameRule> name_rules;   ///< for service names (D5)

    /// Error code `invalid_policy`, naming the setting, if the settings contradict each other or go over a limit.
    Result<void> check() const;

    /// The settings for a namespace, or for the namespace of a resource. REQUIRES: the policy outlives the answer.
    NamespacePolicy of_namespace(std::string_view name_space) const;
    NamespacePolicy of(std::string_view full_name) const;

    /// The longest TTL that any namespace allows: what a store waits for after a crash (S1).
    Duration longest_ttl() const;
    /// Makes no TTL of any namespace longer than this.
    void cap_ttls(Duration longest);

    /// The leases whose number one limit counts: those of a namespace with a limit of its own, those of the keys, of
    /// the services, and all others together. Otherwise a holder could evade the limit by inventing namespaces (R6).
    std::string_view quota_scope(std::string_view full_name) const;
};

inline NamespacePolicy::NamespacePolicy(const Policy& policy) : inherited_(&policy), quotas_(&policy), own_(nullptr) {}

inline NamespacePolicy Policy::of(std::string_view full_name) const {
    const bool special = has_prefix(full_name, "@") || has_prefix(full_name, "KEY:");
    return special ? of_namespace(policy_namespace(full_name)) : NamespacePolicy(*this);
}

/// The rule that denies this service name to the identity (D5); null if it is allowed.
const NameRule* name_denial(const Policy& policy, std::string_view identity, std::string_view name);

/// Why a holder may not acquire or renew this resource at all; nullopt if it may. A pattern that the namespace sets
/// itself is matched against the name in it, without `KEY:` for a key; an inherited one against the full name.
std::optional<Code> bar_to(const Policy& policy, std::string_view holder, std::string_view resource);

/// The TTL granted for the requested one, or the reason for a refusal (G4).
struct GrantedTtl {
    Duration ttl{};
    bool cut = false;
};
struct RefusedTtl {
    Code code;
};
std::variant<GrantedTtl, RefusedTtl> decide_ttl(const NamespacePolicy& policy, std::optional<Duration> asked);

/// For callers that do not learn the granted TTL, such as Redis clients: grants exactly this TTL or none, since a TTL
/// shorter than the caller assumes would break T3. The policy's minimum does not apply: a short lock does no harm.
std::variant<GrantedTtl, RefusedTtl> decide_exact_ttl(const NamespacePolicy& policy, Duration asked);

}  // namespace holdfast::lease
