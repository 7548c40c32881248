#pragma once

#include <functional>
#include <optional>

#include "lease/lease.h"
#include "store/cas/document.h"

namespace holdfast::store::cas {

/// The fencing tokens that this front may issue (G3): reserved in blocks, in one document for all fronts, about every
/// half second.
///
/// A new block lies above all blocks reserved before, and at least at the time since 1970 in milliseconds times 2,048:
/// by the engine's clock, or by this front's where the engine has none. So tokens rise even if the engine has lost
/// everything, unless the clock went back as well. The more tokens a front issues, the larger its blocks; the clock
/// always moves on faster than all fronts together reserve.
///
/// A new token is also above the last of its record. If that is above this front's block, the next token is counted
/// from there. A record remembers its last token for five minutes after its last lease: by then the clock is far beyond
/// it.
class TokenBlocks {
 public:
    static constexpr lease::Token per_ms = 2048;
    static constexpr lease::Token min_size = 4 * per_ms;  ///< so that the first of many need not wait
    static constexpr lease::Token max_size = 128 * per_ms;
    /// Longer than a responsive engine may take for the next block.
    static constexpr Duration usable_for = 3s;
    static constexpr Duration renewed_after = 600ms;

    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::function<std::int64_t()> wall_ms;  ///< this front's clock
    };
    explicit TokenBlocks(Parts parts);

    /// Sets the time. Reserves ahead of need, if it may send requests to the engine.
    void advance(Instant now, bool may_ask = true);
    Instant next_due() const;

    /// The last token issued: the next must be above it. Nullopt if there is no usable block.
    std::optional<lease::Token> last() const;
    void given(lease::Token token);
    /// Why there is no usable block: the engine's error for the last reservation. Nullopt if there is one, or if one is
    /// expected.
    const std::optional<Error>& trouble() const;

 private:
    void reserve();
    lease::Token size_of_next() const;

    Parts parts_;
    Document document_;
    Instant now_;
    Instant reserved_at_;  ///< when the current block was requested
    lease::Token begin_ = 0;
    lease::Token last_ = 0;
    lease::Token end_ = 0;  ///< the last token of the block; 0 if there is none
    Instant ask_at_;
    bool asking_ = false;
    std::optional<Error> failure_;  ///< of the last reservation
};

}  // namespace holdfast::store::cas
