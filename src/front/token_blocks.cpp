#include "front/token_blocks.h"

#include <algorithm>
#include <memory>

#include "base/mutant.h"
#include "base/text.h"

namespace holdfast::core {
namespace {

constexpr Duration blocks_pause = 200ms;

}

TokenBlocks::TokenBlocks(Parts parts)
    : parts_(std::move(parts)), document_({parts_.engine, parts_.next_write, "tokens"}) {}

void TokenBlocks::advance(Instant now) {
    now_ = now;
    if (!asking_ && now >= ask_at_) reserve();
}

Instant TokenBlocks::next_due() const {
    return asking_ ? Instant::max() : ask_at_;
}

std::optional<Token> TokenBlocks::last() const {
    const bool usable = end_ != 0 && last_ < end_ && now_ < reserved_at_ + usable_for;
    if (!usable && !mutant("old_token_block")) return std::nullopt;
    return last_;
}

void TokenBlocks::given(Token token) {
    if (token > end_) return;  // counted from its record's last one
    last_ = std::max(last_, token);
    if (end_ - last_ < size / 2) ask_at_ = std::min(ask_at_, now_);
}

void TokenBlocks::reserve() {
    asking_ = true;
    const Instant asked_at = now_;
    const auto first = std::make_shared<Token>(0);
    document_.change(
        [this, first](const Reading& found) {
            const auto ceiling = parse_number(found.kept.bytes);
            const auto clock = static_cast<Token>(std::max<std::int64_t>(parts_.wall_ms(), 0));
            *first = ceiling ? *ceiling + gap : clock;
            return std::to_string(*first + size);
        },
        [this, first, asked_at](const Result<Reading>& reserved) {
            asking_ = false;
            ask_at_ = now_ + (reserved ? renewed_after : blocks_pause);
            if (!reserved || *first + size >= token_limit) return;
            reserved_at_ = asked_at;
            last_ = *first;
            end_ = *first + size;
        });
}

}  // namespace holdfast::core
