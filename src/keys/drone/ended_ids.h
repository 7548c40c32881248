#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"

namespace holdfast::drone {

/// The ids of backends that have ended in this life of the drone, so that an order that comes again starts none of them
/// a second time. Each is kept until its key must have run out for everyone: after that a repeated order is too late by
/// its own deadline.
class EndedIds {
 public:
    explicit EndedIds(std::size_t most) : most_(most) {}

    bool contains(const std::string& id) const { return ids_.contains(id); }

    /// True if there is room for another.
    bool has_room(HolderInstant now) {
        while (!order_.empty() && order_.front().first <= now)
            drop_first();
        return ids_.size() < most_;
    }

    /// REQUIRES: there was room when the backend began; so they are never more than that and what ran beside it.
    void add(const std::string& id, HolderInstant until) {
        if (ids_.insert(id).second) order_.emplace_back(until, id);
    }

    std::size_t size() const { return ids_.size(); }

 private:
    void drop_first() {
        ids_.erase(order_.front().second);
        order_.pop_front();
    }

    const std::size_t most_;
    std::set<std::string> ids_;
    std::deque<std::pair<HolderInstant, std::string>> order_;
};

}  // namespace holdfast::drone
