#pragma once

#include "store/store.h"

namespace holdfast {

/// A store that passes on to another what it is asked: for tests that come between in one thing.
class PassingStore : public store::Store {
 public:
    explicit PassingStore(store::Store& inner) : inner_(inner) {}

    void update(std::string_view resource, store::Update& update) override { inner_.update(resource, update); }
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<lease::LeaseName>>> reply) override {
        inner_.leases_of(holder, which, most, std::move(reply));
    }
    void list(const store::ListQuery& query, Callback<Result<store::ListPage>> reply) override {
        inner_.list(query, std::move(reply));
    }
    std::size_t active_leases() const override { return inner_.active_leases(); }

 private:
    store::Store& inner_;
};

}  // namespace holdfast
