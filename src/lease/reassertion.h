#pragma once

#include <optional>
#include <string>

#include "lease/policy.h"
#include "lease/record.h"
#include "lease/rules.h"

namespace holdfast::core {

/// A holder's claim that it holds a lease which the store lost with its memory (S1).
struct Reassertion {
    std::string resource;  ///< the full name
    Token token = 0;
    Duration ttl{};
    std::string holder;
    std::string session;
    std::string reason;
    std::string metadata;
};

/// Restores the lease in the record: same holder, same token, a new TTL. Rejected with `unknown_lease` if the record
/// has another lease or anything newer than this one. Rejected with the policy's code if the policy forbids it or would
/// grant a shorter TTL than the holder assumes (T3).
///
/// REQUIRES: this store has granted nothing yet, and the token was issued by an earlier incarnation of it. Then no two
/// holders can both claim one resource: the earlier holder's deadline passed before the later one was granted.
RenewVerdict reassert(Record& record, const Neighbours& neighbours, const Reassertion& reassertion,
                      const Policy& policy, Instant now);

}  // namespace holdfast::core
