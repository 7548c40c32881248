#pragma once

#include "base/time.h"
#include "lease/record.h"

namespace holdfast::store::cas {

/// A record in transit between nodes: its instants are durations from when it left (T1). Its remaining times start
/// again, undiminished, where it arrives, so that an exclusion may outlast the holder's use but never fall short (Q6).
struct RelativeRecord {
    lease::Record record;  ///< with Instant{} in the place of the moment it left

    bool operator==(const RelativeRecord&) const = default;
};

RelativeRecord to_relative(lease::Record record, Instant now);
lease::Record to_absolute(RelativeRecord relative, Instant now);

/// The largest error of clock rates, and its effect on times (Q7). Holders and rules use the TTL that was asked for;
/// acceptors keep a lease longer by (1+rho)/(1-rho), so that the holder stops first whichever clocks are slow or fast.
class ClockRates {
 public:
    /// REQUIRES: 0 <= rho < 0.5.
    explicit ClockRates(double rho);

    double rho() const { return rho_; }
    Duration kept(Duration asked) const;   ///< how long an acceptor keeps what a holder may use for `asked`; rounded up
    Duration usable(Duration kept) const;  ///< the reverse; rounded down

    /// Converts every future instant of the record from the holder's measure to the acceptor's, or back.
    void to_kept(lease::Record& record, Instant now) const;
    void to_usable(lease::Record& record, Instant now) const;

 private:
    double rho_;
};

}  // namespace holdfast::store::cas
