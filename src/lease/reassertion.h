#pragma once

#include <optional>
#include <string>

#include "lease/policy.h"
#include "lease/record.h"
#include "lease/rules.h"

namespace holdfast::core {

/// A holder's word that it holds a lease which the store lost with its memory (S1).
struct Reassertion {
    std::string resource;  ///< the full name
    Token token = 0;
    Duration ttl{};
    std::string holder;
    std::string session;
    std::string reason;
    std::string metadata;
};

/// Takes the lease into the record again: same holder, same token, a new TTL. Rejected with `unknown_lease` if the
/// record shows another lease, or anything that came after this one; with the policy's own code if that is against it,
/// also if it would grant a shorter TTL than the holder believes in (T3).
///
/// REQUIRES: nothing is granted by this store yet, and the token was issued by an earlier life of it. Then no two
/// holders can both say that they hold one resource: the deadline of the earlier one passed before the later was
/// granted it.
RenewVerdict reassert(Record& record, const Neighbours& neighbours, const Reassertion& reassertion,
                      const Policy& policy, Instant now);

}  // namespace holdfast::core
