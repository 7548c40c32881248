#pragma once

#include <functional>
#include <optional>

#include "front/document.h"
#include "lease/lease.h"

namespace holdfast::core {

/// The fencing tokens that this front may give (G3): a block at a time, reserved in one document for all fronts.
///
/// A new token is above the last of its record, and above the start of a block that was reserved less than a minute
/// ago. A record remembers its last token for five minutes after its last lease; so when that is forgotten, all blocks
/// in use were reserved later than the one it came from, and lie above it. Where a record's last token is above this
/// front's block the next one is counted from there; the blocks are so far apart that no front gets into another's by
/// that before its own is a minute old.
class TokenBlocks {
 public:
    static constexpr Token size = Token{1} << 22;
    static constexpr Token gap = Token{1} << 22;
    static constexpr Duration usable_for = 1min;
    static constexpr Duration renewed_after = 20s;

    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::function<std::int64_t()> wall_ms;  ///< where tokens begin, of an engine that has none yet
    };
    explicit TokenBlocks(Parts parts);

    /// The time, and when it wants to be told next. Reserves ahead of need.
    void advance(Instant now);
    Instant next_due() const;

    /// The last one given: the next one must be above it. Nothing if there is no block that may be used.
    std::optional<Token> last() const;
    void given(Token token);

 private:
    void reserve();

    Parts parts_;
    Document document_;
    Instant now_;
    Instant reserved_at_;  ///< when the block in use was asked for
    Token last_ = 0;
    Token end_ = 0;  ///< the last of the block; 0: there is none
    Instant ask_at_;
    bool asking_ = false;
};

}  // namespace holdfast::core
