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

namespace holdfast::core {

/// A pattern that the whole name of a resource must match; empty matches everything. RE2: linear time, whatever the
/// pattern.
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

/// What a rule about the name of a service is about: one identity, or everybody if `identity` is empty.
struct NameRuleKey {
    std::string name;
    std::string identity;

    auto operator<=>(const NameRuleKey&) const = default;
};
/// What an admin says of a service's name. Denied: the identity may not have it. Reserved: of all that are not denied
/// only those identities may have it that it is reserved for.
struct NameRule {
    enum class Kind : std::uint8_t { denied, reserved };
    Kind kind = Kind::denied;
    std::string reason;
    std::int64_t since_wall_ms = 0;  ///< for display

    bool operator==(const NameRule&) const = default;
};

/// Who may advertise services: whoever is not banned, or only who was approved.
enum class Approval : std::uint8_t { automatic, manual };

/// What an admin allows (R7). Durable; every acquire and every renewal passes all of it.
struct Policy {
    Duration ttl_min = 1s;
    Duration ttl_max = 5min;
    Duration ttl_default = 60s;
    bool reject_above_max = false;  ///< false: a TTL above the maximum is cut to it (G4)
    Duration wait_max = 5min;
    NamePattern name_pattern;
    Duration hold_max{};                           ///< R6: how long one holder may keep one resource; zero: for ever
    Duration idle_max{};                           ///< R6: how long a progress counter may stand still; zero: for ever
    std::size_t leases_per_holder_max = 0;         ///< R6; zero: any number
    std::map<std::string, Ban, std::less<>> bans;  ///< by holder, or by IP address or prefix (lease/ip_prefix.h)
    Approval approval = Approval::automatic;
    std::set<std::string, std::less<>> approved;  ///< identities; kept also while nobody asks for them
    std::map<NameRuleKey, NameRule> name_rules;   ///< of services (D5)

    /// Error code `invalid_policy`, naming the setting, if the settings contradict each other or go over a limit.
    Result<void> check() const;
};

/// The rule by which the identity may not have this name of a service (D5); null if it may.
const NameRule* name_denial(const Policy& policy, std::string_view identity, std::string_view name);

/// Why a holder may not have or keep this resource at all, or nothing. Of a service the pattern sees the bare name.
std::optional<Code> bar_to(const Policy& policy, std::string_view holder, std::string_view resource);

/// The TTL that is granted for the one asked for, or why none is (G4).
struct GrantedTtl {
    Duration ttl{};
    bool cut = false;
};
struct RefusedTtl {
    Code code;
};
std::variant<GrantedTtl, RefusedTtl> decide_ttl(const Policy& policy, std::optional<Duration> asked);

/// Likewise for who is not told what it got, as a Redis client is not: this TTL or none, since a shorter one than it
/// believes in would break T3. The minimum is not asked of it, whose short lock harms nobody.
std::variant<GrantedTtl, RefusedTtl> decide_exact_ttl(const Policy& policy, Duration asked);

}  // namespace holdfast::core
