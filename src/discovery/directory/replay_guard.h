#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/time.h"

namespace holdfast::core {

/// Remembers who signed which nonce, for as long as a message with it could be accepted (D1). In two generations, each
/// as long as that: the older one is forgotten whole.
class ReplayGuard {
 public:
    struct Parts {
        HashKey key;
        Duration remember{};             ///< at least so long
        std::size_t per_generation = 0;  ///< no more nonces are taken in that time
    };
    explicit ReplayGuard(Parts parts) : parts_(parts) {}

    enum class Seen : std::uint8_t { fresh, before, full };
    Seen see(std::string_view identity, std::uint64_t nonce);

    void advance(Instant now);
    Instant next_due() const;
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Nonces = boost::unordered_flat_set<std::uint64_t>;

    Parts parts_;
    Instant now_;
    Instant young_since_;
    Nonces young_, old_;
};

}  // namespace holdfast::core
