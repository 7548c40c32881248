#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/code.h"
#include "base/random.h"
#include "base/time.h"

namespace holdfast::discovery {

/// What a publisher does about a relay's answer that is not `ok` (docs/discovery.md, D3).
enum class Remedy : std::uint8_t {
    register_again,  ///< not found: the lease is gone
    sign_again,      ///< the message named another life or clock of the relay, or a number that was used
    stand_by,        ///< not allowed: somebody else has the name
    ask_soon,        ///< the relay cannot, at the moment
    ask_slowly,      ///< the relay will not, under its policy
    give_up,         ///< what is asked for can never be
};
/// By the code's name, as it comes over the wire. One that is not known, as of a later relay, is asked about again.
Remedy remedy_for(std::string_view code);
using core::code_in;

/// How long to wait before the next try: at least so long, at random up to a bound that doubles with every failure. So
/// ten thousand that failed at one time do not come back at one time.
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
inline constexpr Backoff standing_by{1s, 4s, 30s};
/// Always well below the time after which a relay cuts off those who say nothing.
inline constexpr Backoff slowly{3s, 10s, 60s};

}  // namespace holdfast::discovery
