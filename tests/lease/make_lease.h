#pragma once

#include <string>

#include "lease/lease.h"

namespace holdfast::lease {

/// A lease with what a test cares about.
inline Lease make_lease(Token token, Instant expires_at, Predicate predicate = Predicate::mutates,
                        std::string holder = "h") {
    Lease made;
    made.token = token;
    made.predicate = predicate;
    made.expires_at = expires_at;
    made.holder = std::move(holder);
    return made;
}

}  // namespace holdfast::lease
