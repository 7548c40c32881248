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

namespace holdfast::core {

/// Publishers that were refused a name and are connected: who is to be notified when the cause is gone, so that nobody
/// has to poll. One entry for each name of a connection; what is over a limit is not kept, and polls.
///
/// It calls nobody: those that may try again wait until they are taken.
class StandBys {
 public:
    struct Refusal {
        std::uint64_t connection = 0;
        std::string name;
        std::string identity;
        std::optional<IpPrefix> from;
        Code code{};
    };
    /// Replaces what was known of this name of this connection.
    void refused(Refusal refusal);
    /// The connection has the name, or does not want it any more.
    void settled(std::uint64_t connection, std::string_view name);
    void closed(std::uint64_t connection);

    /// The name's lease has ended: for those that somebody else's lease was in the way of.
    void freed(std::string_view name);
    /// A service of this identity has ended: for one of the same that there was no room for. If it was the limit of all
    /// services that was reached, for one of any identity.
    void gained_room(std::string_view identity, bool for_anyone);
    /// For those that the policy was in the way of: `may` says for whom it is not any more.
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

    /// One that there was no room for, under the identity that it was refused to.
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

}  // namespace holdfast::core
