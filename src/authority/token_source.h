#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "lease/lease.h"

namespace holdfast::authority {

/// Issues fencing tokens (G3). They start from the clock in milliseconds, only increase, and never exceed a durable
/// ceiling. The ceiling is raised ahead of need, so that no grant waits for a disk.
class TokenSource {
 public:
    static constexpr lease::Token reserve = lease::Token{1} << 22;  ///< the number of tokens reserved ahead

    /// The start of an incarnation: the highest token an earlier one may have issued, or the clock if that is higher.
    static lease::Token first_after(lease::Token issued, std::int64_t wall_ms) {
        return std::max(issued, static_cast<lease::Token>(std::max<std::int64_t>(wall_ms, 0)));
    }

    /// Issues tokens above `start`; none before raise().
    explicit TokenSource(lease::Token start) : last_(start), ceiling_(start), asked_(start) {}

    /// The next token, higher than all before; nullopt if the ceiling is reached.
    std::optional<lease::Token> take() {
        if (last_ >= ceiling_) return std::nullopt;
        return ++last_;
    }

    /// The ceiling to reserve now, if half of the last reservation is used and none is under way.
    std::optional<lease::Token> wants_ceiling() {
        if (asked_ > ceiling_ || last_ + reserve / 2 < ceiling_) return std::nullopt;
        asked_ = last_ + reserve;
        HOLDFAST_ASSERT(asked_ < lease::token_limit);
        return asked_;
    }
    void raise(lease::Token durable_ceiling) {
        ceiling_ = std::max(ceiling_, durable_ceiling);
        asked_ = ceiling_;
    }
    void raise_failed() { asked_ = ceiling_; }

    lease::Token last() const { return last_; }
    lease::Token headroom() const { return ceiling_ - last_; }  ///< tokens left below the ceiling

 private:
    lease::Token last_;
    lease::Token ceiling_;
    lease::Token asked_;
};

}  // namespace holdfast::authority
