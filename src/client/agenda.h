#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace holdfast {

/// When something is due for each of many names; at most one instant per name.
class Agenda {
 public:
    void put(const std::string& name, HolderInstant at) {
        remove(name);
        at_[name] = at;
        order_.emplace(at, name);
    }

    void remove(const std::string& name) {
        const auto found = at_.find(name);
        if (found == at_.end()) return;
        order_.erase({found->second, name});
        at_.erase(found);
    }

    /// Takes out what is due, the earliest first, at most so many.
    std::vector<std::string> take_due(HolderInstant now, std::size_t most = SIZE_MAX) {
        std::vector<std::string> due;
        while (!order_.empty() && order_.begin()->first <= now && due.size() < most) {
            due.push_back(order_.begin()->second);
            at_.erase(due.back());
            order_.erase(order_.begin());
        }
        return due;
    }

    HolderInstant next() const { return order_.empty() ? HolderInstant::max() : order_.begin()->first; }

 private:
    std::map<std::string, HolderInstant> at_;
    std::set<std::pair<HolderInstant, std::string>> order_;
};

}  // namespace holdfast
