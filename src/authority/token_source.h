#pragma once

#include <cstdint>
#include <optional>

#include "lease/lease.h"

namespace holdfast::core {

/// Hands out fencing tokens (G3): they start from the clock in milliseconds, only ever go up, and never pass a ceiling
/// that is durable already. The ceiling is raised ahead of need, so that no grant waits for a disk.
class TokenSource {
 public:
    static constexpr Token reserve = Token{1} << 22;  ///< how far ahead the ceiling is kept

    /// Where a life starts: above every token an earlier life may have issued, and at the clock if that is higher.
    static Token first_after(Token issued, std::int64_t wall_ms);

    /// Tokens above `start`; none before raise().
    explicit TokenSource(Token start) : last_(start), ceiling_(start), asked_(start) {}

    /// A token above every one before; nothing if the ceiling is reached.
    std::optional<Token> take();

    /// The ceiling to reserve now, if half of the last reservation is used and none is under way.
    std::optional<Token> wants_ceiling();
    void raise(Token durable_ceiling);
    void raise_failed() { asked_ = ceiling_; }

    Token last() const { return last_; }
    Token headroom() const { return ceiling_ - last_; }  ///< that may be taken before the ceiling is raised

 private:
    Token last_;
    Token ceiling_;
    Token asked_;
};

}  // namespace holdfast::core
