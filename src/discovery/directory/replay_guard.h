#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/time.h"

namespace holdfast::discovery::directory {

/// Remembers each identity's nonces for as long as a message with them could be accepted (D1). Keeps two generations,
/// each spanning that time; the older one is dropped as a whole.
class ReplayGuard {
 public:
    struct Parts {
        HashKey key;
        Duration remember{};             ///< the minimum time to remember a nonce
        std::size_t per_generation = 0;  ///< the maximum number of nonces in that time
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

}  // namespace holdfast::discovery::directory
