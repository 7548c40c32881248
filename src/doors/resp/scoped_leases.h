#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "authority/authority.h"

namespace holdfast::doors::resp {

/// The leases that end with a connection (R8).
class ScopedLeases {
 public:
    static constexpr std::size_t most = 1000;

    explicit ScopedLeases(authority::Authority& authority) : authority_(authority) {}

    /// False if the limit is reached, even after dropping leases that have ended meanwhile.
    bool has_room();
    void add(lease::LeaseName name, std::string holder);
    /// Removes a lease that its holder is about to release.
    void forget_if_of(lease::Token token, std::string_view holder);
    void release_all();
    std::size_t size() const { return leases_.size(); }

 private:
    struct Scoped {
        std::string resource;
        std::string holder;
    };
    void drop_ended();

    authority::Authority& authority_;
    std::unordered_map<lease::Token, Scoped> leases_;
};

}  // namespace holdfast::doors::resp
