#pragma once

#include <map>
#include <string>
#include <string_view>

#include "discovery/identity/identity.h"

namespace holdfast::core {

/// Public keys that were parsed already, for publishers that renew for hours. In two generations: those that nobody
/// used while as many others came are forgotten.
class Verifiers {
 public:
    explicit Verifiers(std::size_t most) : per_generation_(most / 2) {}

    /// Null if these are not the bytes of a public key. Good until the next call.
    const Verifier* find(std::string_view public_key);
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Keys = std::map<std::string, Verifier, std::less<>>;

    std::size_t per_generation_;
    Keys young_, old_;
};

}  // namespace holdfast::core
