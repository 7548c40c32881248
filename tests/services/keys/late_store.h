#pragma once

#include <deque>
#include <functional>
#include <string>

#include "base/random.h"
#include "store/store.h"

namespace holdfast::core {

/// A store that answers later, and not always in the order in which it was asked: as one on other machines does.
class LateStore final : public Store {
 public:
    LateStore(Store& inner, std::uint64_t seed) : inner_(inner), random_(seed) {}

    void update(std::string_view resource, Update& update) override {
        later_.push_back([this, resource = std::string(resource), &update] { inner_.update(resource, update); });
    }
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<LeaseName>>> reply) override {
        inner_.leases_of(holder, which, most, std::move(reply));
    }
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override {
        inner_.list(query, std::move(reply));
    }
    std::size_t active_leases() const override { return inner_.active_leases(); }

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
    Store& inner_;
    Random random_;
    std::deque<std::function<void()>> later_;
};

}  // namespace holdfast::core
