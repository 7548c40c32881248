#pragma once

#include <deque>
#include <functional>
#include <string>

#include "base/random.h"
#include "support/passing_store.h"

namespace holdfast::keys::controller {

/// A store that answers later, and not always in the order in which it was asked: as one on other machines does.
class LateStore final : public PassingStore {
 public:
    LateStore(store::Store& inner, std::uint64_t seed) : PassingStore(inner), random_(seed) {}

    void update(std::string_view resource, store::Update& update) override {
        later_.push_back([this, resource = std::string(resource), &update] { PassingStore::update(resource, update); });
    }

    /// Does one of the things it was asked to do. False if there is none.
    bool step() {
        if (later_.empty()) return false;
        const auto which = later_.begin() + static_cast<long>(random_.below(later_.size()));
        const std::function<void()> work = std::move(*which);
        later_.erase(which);
        work();
        return true;
    }

 private:
    Random random_;
    std::deque<std::function<void()>> later_;
};

}  // namespace holdfast::keys::controller
