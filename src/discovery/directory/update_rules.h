#pragma once

#include <optional>

#include "authority/single_record.h"
#include "discovery/directory/advert.h"

namespace holdfast::core {

/// What an update does to the record of its service: one look, one decision, one write. The subject's holder is the
/// identity that signed it. Why not is in the answer's `refused`; the lease in `lease`.

struct EnterTerms {
    std::optional<Token> returning;  ///< only if no lease of this identity with another token is there (D3)
    Duration ttl{};
    Advert advert;  ///< first seen now; that of a lease of the same identity is kept
};
void enter_service(RecordTransaction& desk, const EnterTerms& terms);

struct RenewTerms {
    Token token = 0;
    std::optional<Duration> ttl;
    bool unreachable = false;  ///< it comes over a connection that does not serve it: it must be registered anew
};
void renew_service(RecordTransaction& desk, const RenewTerms& terms);

/// What is not there is success (R2).
void leave_service(RecordTransaction& desk, Token token);

}  // namespace holdfast::core
