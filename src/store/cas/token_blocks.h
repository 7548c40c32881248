#pragma once

#include <functional>
#include <optional>

#include "lease/lease.h"
#include "store/cas/document.h"

namespace holdfast::core {

/// The fencing tokens that this front may give (G3): some at a time, reserved in one document for all fronts, anew
/// about every half second.
///
/// Those that are reserved lie above all that were reserved before, and at least at the time since 1970 in milliseconds
/// times 2,048: by the engine's clock, or by this front's where the engine has none. So tokens rise also if the engine
/// has lost everything, unless the clock went back as well. The more a front gives the more it reserves at a time;
/// whatever all fronts reserve, the clock moves on faster.
///
/// A new token is above the last of its record, too. Where that one is above what this front has reserved, the next is
/// counted from there. A record remembers its last token for five minutes after its last lease: when that is forgotten,
/// the clock is far beyond it.
class TokenBlocks {
 public:
    static constexpr Token per_ms = 2048;
    static constexpr Token size_least = 4 * per_ms;  ///< so that the first of many do not have to wait
    static constexpr Token size_most = 128 * per_ms;
    /// Longer than an engine that answers at all may take for the next ones.
    static constexpr Duration usable_for = 3s;
    static constexpr Duration renewed_after = 600ms;

    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::function<std::int64_t()> wall_ms;  ///< this front's clock
    };
    explicit TokenBlocks(Parts parts);

    /// The time, and when it wants to be told next. Reserves ahead of need, if it may ask the engine for something.
    void advance(Instant now, bool may_ask = true);
    Instant next_due() const;

    /// The last one given: the next one must be above it. Nothing if there is no block that may be used.
    std::optional<Token> last() const;
    void given(Token token);
    /// Why there is no block that may be used: what the engine said when the next one was asked for. None if there is
    /// one, or no reason to expect that there will not be.
    const std::optional<Error>& trouble() const;

 private:
    void reserve();
    Token size_of_next() const;

    Parts parts_;
    Document document_;
    Instant now_;
    Instant reserved_at_;  ///< when the block in use was asked for
    Token begin_ = 0;
    Token last_ = 0;
    Token end_ = 0;  ///< the last of the block; 0: there is none
    Instant ask_at_;
    bool asking_ = false;
    std::optional<Error> failure_;  ///< of the last reservation
};

}  // namespace holdfast::core
