#pragma once

#include "base/time.h"
#include "store/cas/travelling.h"
#include "store/quorum/ballot.h"

namespace holdfast::core {

/// What the members of a cluster agree on (Q12), and which of them this is.
struct QuorumConfig {
    NodeIndex node = 0;
    std::uint8_t members = 3;
    BootNumber boot = 1;
    Duration longest_ttl = 5min;  ///< no lease is asked for longer, and no policy may allow it
    double rho = 0.01;
    Duration attempt_time = 500ms;  ///< from when an attempt's first message was sent; then it has failed (Q3)
    Duration give_up_after = 5s;    ///< of an update, over all its attempts

    std::size_t majority() const { return members / 2U + 1U; }
    ClockRates rates() const { return ClockRates{rho}; }

    /// How long an acceptor that lost its memory stays silent (Q10).
    Duration silence() const;
    /// How long after acceptance a ballot is kept when its record is empty (Q5).
    Duration ballot_kept() const;
};

}  // namespace holdfast::core
