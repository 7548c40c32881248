#pragma once

#include <cstdint>
#include <vector>

#include "store/quorum/register.h"

namespace holdfast::core {

/// Tokens that only this node gives, so that a lease with one of them that is found in a record is known to be its own:
/// two nodes that do not see each other's attempts must not give the same token (Q8).
class OwnTokens {
 public:
    OwnTokens(NodeIndex node, std::uint8_t members) : node_(node), members_(members) {}

    bool has(Token token) const { return token % members_ == node_; }
    /// What a record's last token must be for the next one to be of these, and above `highest`.
    Token before_next(Token highest) const {
        const Token next = highest + 1;
        return highest + (members_ + node_ - next % members_) % members_;
    }

 private:
    NodeIndex node_;
    std::uint8_t members_;
};

/// What the updates of an attempt made of a record.
struct Decided {
    bool changed = false;
    std::vector<Token> added;             ///< leases that were not there
    std::vector<Lease> extended;          ///< leases that were renewed, as they were before
    std::vector<std::uint64_t> enqueued;  ///< waiters that were not there
};

/// Applies them in order, each to the result of the one before, with tokens that are this node's own. An update may
/// bring a higher token of its own making along: then all are applied once more, with tokens above that.
Decided apply_all(const std::vector<Pending>& batch, Record& record, const Neighbours& neighbours,
                  const OwnTokens& tokens, Instant now);

/// Takes the leases with these tokens out. True if there were any.
bool take_out(Record& record, const std::vector<Token>& tokens);

}  // namespace holdfast::core
