#pragma once

#include <vector>

#include "lease/record.h"
#include "store/quorum/looks.h"
#include "store/quorum/mail.h"

namespace holdfast::core {

/// Waiters of a node that is gone are in nobody's way (G6): they keep their places in the queue, for it may be back,
/// but an update does not see them.
class AbsentWaiters {
 public:
    /// Sets them aside in the record: they are in nobody's way, and whoever comes back through this node keeps its
    /// place (G6).
    AbsentWaiters(Record& record, const Mail& mail, Instant now);
    /// Puts them back in their places.
    static void put_back(Record& record);
};

/// Takes them out of all records.
Shown without_absent(Shown sight, const Mail& mail, Instant now);

}  // namespace holdfast::core
