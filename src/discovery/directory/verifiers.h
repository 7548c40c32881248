#pragma once

#include <map>
#include <string>
#include <string_view>

#include "discovery/identity/identity.h"

namespace holdfast::core {

/// A cache of parsed public keys, for publishers that renew for hours. Keeps two generations: a key that is not used
/// while a generation of others comes in is dropped.
class Verifiers {
 public:
    explicit Verifiers(std::size_t most) : per_generation_(most / 2) {}

    /// Null if the bytes are not a public key. Valid until the next call.
    const Verifier* find(std::string_view public_key);
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Keys = std::map<std::string, Verifier, std::less<>>;

    std::size_t per_generation_;
    Keys young_, old_;
};

}  // namespace holdfast::core
