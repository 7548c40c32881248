#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "authority/current_policy.h"
#include "base/callback.h"
#include "store/store.h"

namespace holdfast::authority {

/// How many leases each holder has, for the limit on that (R6).
///
/// They are counted in the store once. From then on what this node does to them is added up, so that an acquire costs
/// the same however many leases its holder has. What this node does not see at once is seen by counting again: changes
/// through other nodes, and leases that ran out and that the sweep has yet to remove. A count is valid for a time in
/// proportion to its cost, so that counting takes a hundredth of the time at most.
class LeaseCounts {
 public:
    struct Parts {
        const CurrentPolicy& policy;
        const Instant& now;
        bool is_sole = true;  ///< no other node changes the store
    };
    explicit LeaseCounts(Parts parts) : parts_(parts) {}
    void use(store::Store& store) { store_ = &store; }

    /// Whether `more` leases of this resource's namespace are too many for the holder. Nothing: count() first.
    std::optional<bool> exceeds(std::string_view holder, std::string_view resource, std::size_t more);
    /// Counts the holder's leases. Directly afterwards exceeds() has an answer.
    void count(const std::string& holder, Callback<Result<void>> done);

    // What this node did.
    void granted(std::string_view holder, std::string_view resource);
    void ended(std::string_view holder, std::string_view resource);
    /// Something else was done to the holder's leases.
    void forget(std::string_view holder);

 private:
    struct Count {
        std::map<std::string, std::size_t, std::less<>> by_scope;  // Policy::quota_scope()
        Instant valid_until;
    };
    std::size_t* known(std::string_view holder, std::string_view resource);

    Parts parts_;
    store::Store* store_ = nullptr;
    std::uint64_t policy_version_ = 0;  // of which the scopes are
    std::map<std::string, Count, std::less<>> counts_;
};

}  // namespace holdfast::authority
