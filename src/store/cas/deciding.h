#pragma once

#include <vector>

#include "store/cas/lost_leases.h"
#include "store/cas/own_waiters.h"
#include "store/cas/pending.h"
#include "store/cas/stored_record.h"

namespace holdfast::core {

/// What updates are decided on: the record as it is known, the records around it, and what time it is.
struct Situation {
    std::string_view resource;
    const StoredRecord& base;
    const Neighbours& neighbours;
    Moment moment;
    const ClockRates& rates;
    const OwnWaiters& waiters;
    const std::vector<LostLease>& lost;  ///< may be in the record, and nobody was told of them
    bool tidy = false;                   ///< what time has ended is to be written down
    Token last_token = 0;                ///< whatever is granted gets one above this (G3)
};

/// What they made of it. Records are in this machine's instants, in the measure of the holders, and our own waiters
/// have the ends that they mean to have.
struct Decision {
    struct Expired {
        Lease lease;
        Duration late;
    };
    bool changed = false;
    bool freed = false;  ///< something is gone that may have been in somebody's way
    Window window;
    Record before;  ///< settled
    Record after;
    std::vector<Expired> expired;
    std::vector<Token> added;             ///< leases that were not there
    std::vector<Token> extended;          ///< leases that were renewed
    std::vector<std::uint64_t> enqueued;  ///< waiters that were not there
    std::vector<Update*> granting;        ///< those that gave a token
};

/// Applies them in order, each to the result of the one before.
Decision decide(const Situation& situation, const std::vector<Pending>& batch);

}  // namespace holdfast::core
