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

/// The limits and permissions that an admin sets (R7). Durable. Every acquire and every renewal is checked against all
/// of it.
struct Policy {
    Duration ttl_min = 1s;
    Duration ttl_max = 5min;
    Duration ttl_default = 60s;
    bool reject_above_max = false;  ///< false: a TTL above the maximum is cut to it (G4)
    Duration wait_max = 5min;
    NamePattern name_pattern;
    Duration hold_max{};                           ///< R6: how long one holder may keep one resource; zero: no limit
    Duration idle_max{};                           ///< R6: how long a progress counter may stand still; zero: no limit
    std::size_t leases_per_holder_max = 0;         ///< R6; zero: no limit
    std::map<std::string, Ban, std::less<>> bans;  ///< by holder, or by IP address or prefix (lease/ip_prefix.h)
    Approval approval = Approval::automatic;
    std::set<std::string, std::less<>> approved;  ///< identities; kept also while approval is automatic
    std::map<NameRuleKey, NameRule> name_rules;   ///< for service names (D5)

    /// Error code `invalid_policy`, naming the setting, if the settings contradict each other or go over a limit.
    Result<void> check() const;
};

/// The rule that denies this service name to the identity (D5); null if it is allowed.
const NameRule* name_denial(const Policy& policy, std::string_view identity, std::string_view name);

/// Why a holder may not acquire or renew this resource at all; nullopt if it may. For a service, name_pattern is
/// matched against the bare name.
std::optional<Code> bar_to(const Policy& policy, std::string_view holder, std::string_view resource);

/// The TTL granted for the requested one, or the reason for a refusal (G4).
struct GrantedTtl {
    Duration ttl{};
    bool cut = false;
};
struct RefusedTtl {
    Code code;
};
std::variant<GrantedTtl, RefusedTtl> decide_ttl(const Policy& policy, std::optional<Duration> asked);

/// For callers that do not learn the granted TTL, such as Redis clients: grants exactly this TTL or none, since a TTL
/// shorter than the caller assumes would break T3. The policy's minimum does not apply: a short lock does no harm.
std::variant<GrantedTtl, RefusedTtl> decide_exact_ttl(const Policy& policy, Duration asked);

}  // namespace holdfast::lease
