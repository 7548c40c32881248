#include "store/cas/own_waiters.h"

#include <algorithm>

namespace holdfast::store::cas {
namespace {

constexpr Duration at_a_time = 10s;
constexpr Duration extended_below = 6s;  ///< polled about once a second (waiter_poller.h)

}  // namespace

bool OwnWaiters::lengthen(std::string_view resource, lease::Record& record, Instant now) const {
    if (record.waiters.empty()) return false;
    const auto found = by_resource_.find(resource);
    if (found == by_resource_.end()) return false;
    bool soon = false;
    for (lease::Waiter& waiter : record.waiters) {
        const Until* const known = find(found->second, waiter.id);
        if (known == nullptr || known->leaving || known->until <= waiter.until) continue;
        soon |= waiter.until - now < extended_below;
        waiter.until = known->until;
    }
    return soon;
}

void OwnWaiters::shorten(lease::Record& record, Instant now) const {
    for (lease::Waiter& waiter : record.waiters)
        if (is_ours(waiter)) waiter.until = std::min(waiter.until, now + at_a_time);
}

void OwnWaiters::note(std::string_view resource, const lease::Record& record) {
    const auto found = by_resource_.find(resource);
    List ours;
    for (const lease::Waiter& waiter : record.waiters) {
        if (!is_ours(waiter)) continue;
        const Until* const known = found == by_resource_.end() ? nullptr : find(found->second, waiter.id);
        ours.push_back({waiter.id, waiter.until, known != nullptr && known->leaving});
    }
    if (found == by_resource_.end()) {
        if (!ours.empty()) by_resource_.emplace(std::string(resource), std::move(ours));
    } else if (ours.empty()) {
        by_resource_.erase(found);
    } else {
        found->second = std::move(ours);
    }
}

void OwnWaiters::failed(std::string_view resource, Update& update, Instant now) {
    const auto found = by_resource_.find(resource);
    if (found == by_resource_.end()) return;
    lease::Record queue;
    for (const Until& one : found->second) {
        lease::Waiter& waiter = queue.waiters.emplace_back();
        waiter.id = one.id;
        waiter.until = one.until;
    }
    update.apply(queue, lease::NoNeighbours{}, now);
    for (Until& one : found->second) {
        const auto same = [&](const lease::Waiter& waiter) { return waiter.id == one.id; };
        one.leaving |= std::none_of(queue.waiters.begin(), queue.waiters.end(), same);
    }
}

void OwnWaiters::let_go(std::string_view resource, const std::vector<std::uint64_t>& ids) {
    const auto found = by_resource_.find(resource);
    if (found == by_resource_.end()) return;
    for (Until& one : found->second)
        one.leaving |= std::find(ids.begin(), ids.end(), one.id) != ids.end();
}

const OwnWaiters::Until* OwnWaiters::find(const List& list, std::uint64_t id) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Until& one) { return one.id == id; });
    return found == list.end() ? nullptr : &*found;
}

}  // namespace holdfast::store::cas
