#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/code.h"
#include "lease/ip_prefix.h"

namespace holdfast::discovery::directory {

/// Connected publishers that were refused a name, to be notified when the cause is gone, so that they need not poll.
/// One entry per connection and name. Refusals over a limit are not kept; those publishers have to poll.
///
/// Makes no callbacks: publishers that may retry are queued until they are taken.
class StandBys {
 public:
    struct Refusal {
        std::uint64_t connection = 0;
        std::string name;
        std::string identity;
        std::optional<lease::IpPrefix> from;
        Code code{};
    };
    /// Replaces the entry for this connection and name.
    void refused(Refusal refusal);
    /// The connection has the name or no longer wants it.
    void settled(std::uint64_t connection, std::string_view name);
    void closed(std::uint64_t connection);

    /// The name's lease has ended: readies those that were refused because the name was taken.
    void freed(std::string_view name);
    /// A service of this identity has ended: readies one entry of the same identity that was refused for a limit. If
    /// there is none and `for_anyone` is set, because the limit on all services was reached, readies one of any
    /// identity.
    void gained_room(std::string_view identity, bool for_anyone);
    /// Readies those that were refused by the policy and for which `may` now returns true.
    void policy_changed(const std::function<bool(const Refusal&)>& may);

    struct Ready {
        std::uint64_t connection = 0;
        std::string name;
    };
    std::vector<Ready> take_ready() { return std::exchange(ready_, {}); }
    bool anyone_ready() const { return !ready_.empty(); }
    std::size_t size() const { return size_; }

 private:
    using Names = std::map<std::string, Refusal, std::less<>>;

    /// A publisher that was refused because of a limit, with its identity.
    struct Crowded {
        std::string identity, name;
        std::uint64_t connection = 0;
        auto operator<=>(const Crowded&) const = default;
    };

    void forget(std::uint64_t connection, const std::string& name);

    std::map<std::uint64_t, Names> by_connection_;
    std::map<std::string, std::set<std::uint64_t>, std::less<>> by_name_;
    std::set<Crowded> crowded_;
    std::size_t size_ = 0;
    std::vector<Ready> ready_;
};

}  // namespace holdfast::discovery::directory
