#pragma once

#include <string_view>

#include "store/quorum/travelling.h"
#include "store/store.h"

namespace holdfast::core {

/// One record that an acceptor had, and the one that it has accepted in its place; both settled, in its own measure of
/// time.
struct Accepted {
    std::string_view resource;
    const Record& before;
    const Record& after;
    Instant now;
};

/// Tells what has become of leases by it. A lease that came and went while this acceptor heard nothing is not told of;
/// one that is seen again after it was told to have ended counts as renewed. Leases are told in the holder's measure.
void tell_changes(const Accepted& accepted, const ClockRates& rates, StoreListener& listener);

}  // namespace holdfast::core
