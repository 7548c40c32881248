#pragma once

#include <algorithm>

#include "base/code.h"
#include "base/random.h"
#include "base/time.h"

namespace holdfast::discovery::publisher {

/// A publisher's reaction to a relay's answer other than `ok` (docs/discovery.md, D3).
enum class Remedy : std::uint8_t {
    register_again,  ///< not found: the lease is gone
    sign_again,      ///< the message named another incarnation or time of the relay, or reused a nonce
    stand_by,        ///< not allowed: another publisher has the name
    ask_soon,        ///< the relay is unable to, at the moment
    ask_slowly,      ///< the relay's policy refuses it
    give_up,         ///< the request can never succeed
};
/// An unknown code, as from a newer relay, is retried.
Remedy remedy_for(const ErrorCode& code);

/// The wait before the next retry: a random time between `least` and a bound that doubles with every failure. So ten
/// thousand clients that failed together do not retry together.
struct Backoff {
    Duration least;
    Duration first_most;
    Duration most;

    Duration after(int failures, Random& random) const {
        Duration bound = first_most;
        for (int i = 1; i < failures && bound < most; ++i)
            bound *= 2;
        bound = std::min(bound, most);
        return least +
               Duration{static_cast<Duration::rep>(static_cast<double>((bound - least).count()) * random.unit())};
    }
};
inline constexpr Backoff soon{500ms, 2s, 30s};
inline constexpr Backoff as_stand_by{1s, 4s, 30s};
/// Always well below the time after which a relay closes silent connections.
inline constexpr Backoff slowly{3s, 10s, 60s};

}  // namespace holdfast::discovery::publisher
