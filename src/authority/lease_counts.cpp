#include "authority/lease_counts.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::authority {
namespace {

constexpr std::size_t max_holders = 10'000;  // whose counts are remembered
constexpr Duration valid_per_lease = 10us;   // a hundred times what it takes to count one

}  // namespace

std::optional<bool> LeaseCounts::exceeds(std::string_view holder, std::string_view resource, std::size_t more) {
    const lease::Policy& policy = parts_.policy.policy();
    const std::size_t most = policy.of(resource).leases_per_holder_max();
    if (most == 0) return false;
    if (std::exchange(policy_version_, parts_.policy.version()) != parts_.policy.version()) counts_.clear();
    const auto found = counts_.find(holder);
    if (found == counts_.end()) return std::nullopt;
    const Count& count = found->second;
    const auto in_scope = count.by_scope.find(policy.quota_scope(resource));
    const bool is_over = (in_scope == count.by_scope.end() ? 0 : in_scope->second) + more > most;
    // If nobody else grants leases, the holder has no more than were counted here.
    if (parts_.now > count.valid_until && (is_over || !parts_.is_sole)) return std::nullopt;
    return is_over;
}

void LeaseCounts::count(const std::string& holder, Callback<Result<void>> done) {
    store_->leases_of(
        holder, store::Store::Which::active, SIZE_MAX,
        [this, holder, done = std::move(done)](const Result<std::vector<lease::LeaseName>>& held) mutable {
            if (!held) return done(held.error());
            if (counts_.size() >= max_holders) counts_.clear();
            Count& count = counts_[holder];
            count.by_scope.clear();
            for (const lease::LeaseName& name : *held)
                ++count.by_scope[std::string(parts_.policy.policy().quota_scope(name.resource))];
            count.valid_until = parts_.now + valid_per_lease * held->size();
            done({});
        });
}

/// Null if the holder's leases were not counted.
std::size_t* LeaseCounts::known(std::string_view holder, std::string_view resource) {
    if (counts_.empty()) return nullptr;  // as without a limit
    const auto found = counts_.find(holder);
    if (found == counts_.end()) return nullptr;
    return &found->second.by_scope[std::string(parts_.policy.policy().quota_scope(resource))];
}

void LeaseCounts::granted(std::string_view holder, std::string_view resource) {
    if (std::size_t* number = known(holder, resource)) ++*number;
}

void LeaseCounts::ended(std::string_view holder, std::string_view resource) {
    std::size_t* number = known(holder, resource);
    if (number != nullptr && *number > 0) --*number;
}

void LeaseCounts::forget(std::string_view holder) {
    if (const auto found = counts_.find(holder); found != counts_.end()) counts_.erase(found);
}

}  // namespace holdfast::authority
