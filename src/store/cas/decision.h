#pragma once

#include <vector>

#include "store/cas/lost_leases.h"
#include "store/cas/own_waiters.h"
#include "store/cas/stored_record.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// The input of a decision: the record as it is known, the overlapping records, and the time.
struct Situation {
    std::string_view resource;
    const StoredRecord& base;
    const lease::Neighbours& neighbours;
    Moment moment;
    const ClockRates& rates;
    const OwnWaiters& waiters;
    const std::vector<LostLease>& lost;  ///< may be in the record, but were never reported
    bool tidy = false;                   ///< entries that have ended are to be removed from the stored record
    lease::Token last_token = 0;         ///< a grant gets a token above this (G3)
};

/// The outcome. Records are in this machine's instants, in the measure of the holders, and this front's waiters have
/// their real deadlines.
struct Decision {
    struct Expired {
        lease::Lease lease;
        Duration late;
    };
    bool changed = false;
    bool freed = false;  ///< something is gone that may have blocked a request
    Window window;
    lease::Record before;  ///< settled
    lease::Record after;
    std::vector<Expired> expired;
    std::vector<lease::Token> added;      ///< leases that are new
    std::vector<lease::Token> extended;   ///< leases that were renewed
    std::vector<std::uint64_t> enqueued;  ///< waiters that are new
    std::vector<Update*> granting;        ///< the updates that issued a token
};

/// Applies the updates in order, each to the result of the one before.
Decision decide(const Situation& situation, const std::vector<Pending>& batch);

}  // namespace holdfast::store::cas
