#include "store/cas/lost_leases.h"

#include <algorithm>

namespace holdfast::store::cas {
namespace {

constexpr std::size_t max_resources = 10'000;
constexpr std::size_t max_leases = 10'000;  ///< of one resource

/// How far other fronts may have moved an instant by rewriting a record: only rounding where the engine has the only
/// clock; otherwise each front counts from when it saw a write.
Duration moved_by(const ClockRates& rates) {
    return rates.rho() > 0 ? Duration{1s} : Duration{1ms};
}

}  // namespace

std::vector<LostLease> lost_of(const lease::Record& record, const std::vector<lease::Token>& tokens,
                               const Moment& moment) {
    std::vector<LostLease> lost;
    for (const lease::Token token : tokens)
        if (const lease::Lease* lease = record.find(token))
            lost.push_back({token, lease->holder, lease->session, moment.to_engine(lease->acquired_at)});
    return lost;
}

bool take_out(lease::Record& record, const std::vector<LostLease>& lost, const Moment& moment,
              const ClockRates& rates) {
    const Duration tolerance = moved_by(rates);
    return std::erase_if(record.leases, [&](const lease::Lease& lease) {
               return std::any_of(lost.begin(), lost.end(), [&](const LostLease& one) {
                   if (one.token != lease.token || one.holder != lease.holder || one.session != lease.session)
                       return false;
                   const EngineTime acquired = moment.to_engine(lease.acquired_at);
                   return acquired >= one.acquired_at - tolerance && acquired <= one.acquired_at + tolerance;
               });
           }) > 0;
}

void LostLeases::add(std::string_view resource, std::vector<LostLease> leases, When when) {
    auto found = by_resource_.find(resource);
    if (found != by_resource_.end())
        std::erase_if(leases, [&](const LostLease& lease) {
            const auto& known = found->second.leases;
            return std::find(known.begin(), known.end(), lease) != known.end();
        });
    if (leases.empty()) return;
    if (found == by_resource_.end()) {
        if (by_resource_.size() >= max_resources) return;  // they end by themselves
        found = by_resource_.try_emplace(std::string(resource)).first;
        found->second.due = Instant::max();
    }
    Entry& entry = found->second;
    if (entry.leases.size() + leases.size() > max_leases) entry.leases.clear();
    entry.leases.insert(entry.leases.end(), leases.begin(), leases.end());
    entry.until = std::max(entry.until, when.until);
    set_due(found->first, entry, when.read_at);
}

const std::vector<LostLease>* LostLeases::find(std::string_view resource) const {
    const auto found = by_resource_.find(resource);
    return found == by_resource_.end() ? nullptr : &found->second.leases;
}

const std::string* LostLeases::due(Instant now) const {
    return due_.empty() || due_.begin()->first > now ? nullptr : &due_.begin()->second;
}

void LostLeases::begin_read(std::string_view resource, Instant now) {
    const auto found = by_resource_.find(resource);
    if (found != by_resource_.end()) set_due(found->first, found->second, now + 1s);
}

void LostLeases::note_read(std::string_view resource, Instant asked, std::vector<LostLease>& lost) {
    const auto found = by_resource_.find(resource);
    if (found == by_resource_.end() || asked < found->second.until) return;
    const auto& gone = found->second.leases;
    std::erase_if(lost, [&](const LostLease& one) { return std::find(gone.begin(), gone.end(), one) != gone.end(); });
    due_.erase({found->second.due, found->first});
    by_resource_.erase(found);
}

void LostLeases::set_due(const std::string& resource, Entry& entry, Instant at) {
    if (entry.due != Instant::max()) due_.erase({entry.due, resource});
    entry.due = at;
    due_.emplace(at, resource);
}

}  // namespace holdfast::store::cas
