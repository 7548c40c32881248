#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "lease/code.h"

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

    /// Error code `invalid_policy`, naming the setting, if the settings contradict each other or go over a limit.
    Result<void> check() const;
};

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
