#pragma once

#include <optional>

#include "authority/single_record.h"
#include "discovery/directory/advert.h"

namespace holdfast::discovery::directory {

/// The rules that apply an update to the record of its service: one read, one decision, one write. The transaction's
/// holder is the identity that signed the update. The answer's `refused` has the reason for a refusal; `lease` has the
/// lease.

struct EnterTerms {
    std::optional<lease::Token> returning;  ///< refused if this identity has a lease with another token (D3)
    Duration ttl{};
    Advert advert;  ///< keeps the first-seen time of an earlier lease of the same identity
};
void enter_service(authority::RecordTransaction& desk, const EnterTerms& terms);

struct RenewTerms {
    lease::Token token = 0;
    std::optional<Duration> ttl;
    bool unreachable = false;  ///< came over a connection that does not serve it: the service must register again
};
void renew_service(authority::RecordTransaction& desk, const RenewTerms& terms);

/// A missing lease counts as success (R2).
void leave_service(authority::RecordTransaction& desk, lease::Token token);

}  // namespace holdfast::discovery::directory
