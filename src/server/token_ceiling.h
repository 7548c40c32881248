#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/time.h"
#include "store/durable.h"

namespace holdfast::store::quorum {
class Acceptor;
}

namespace holdfast::server {

/// Keeps the durable ceiling of an acceptor's tokens and ballots ahead of need, so that no grant waits for a disk (Q11,
/// Q13). Keeps it ahead of the wall clock as well: a member that starts later begins its tokens there (G3).
class TokenCeiling {
 public:
    struct Parts {
        store::quorum::Acceptor& acceptor;
        store::LocalDurable& durable;
        std::function<std::int64_t()> wall_ms;
    };
    explicit TokenCeiling(Parts parts) : parts_(std::move(parts)) {}

    void advance(Instant now);
    Instant next_due() const;

 private:
    Parts parts_;
    Instant now_;
    Instant look_at_wall_;  ///< when to read the wall clock next
    Instant try_at_;
    std::optional<lease::Token> wanted_;
    bool under_way_ = false;
};

}  // namespace holdfast::server
