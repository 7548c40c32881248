#include "store/cas/token_blocks.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/text.h"

namespace holdfast::store::cas {
namespace {

constexpr Duration blocks_pause = 200ms;

/// The lowest token at this time; 0 if the clock shows a time that no token can represent.
lease::Token floor_at(std::int64_t wall_ms) {
    constexpr auto most = static_cast<std::int64_t>(lease::token_limit / TokenBlocks::per_ms);
    return wall_ms <= 0 || wall_ms >= most ? 0 : static_cast<lease::Token>(wall_ms) * TokenBlocks::per_ms;
}

}  // namespace

TokenBlocks::TokenBlocks(Parts parts)
    : parts_(std::move(parts)), document_({parts_.engine, parts_.next_write, "tokens"}) {}

void TokenBlocks::advance(Instant now, bool may_ask) {
    now_ = now;
    if (may_ask && !asking_ && now >= ask_at_) reserve();
}

Instant TokenBlocks::next_due() const {
    return asking_ ? Instant::max() : ask_at_;
}

std::optional<lease::Token> TokenBlocks::last() const {
    const bool usable = end_ != 0 && last_ < end_ && now_ < reserved_at_ + usable_for;
    if (!usable) return std::nullopt;
    return last_;
}

const std::optional<Error>& TokenBlocks::trouble() const {
    static const std::optional<Error> none;
    return last() ? none : failure_;
}

void TokenBlocks::given(lease::Token token) {
    if (token > end_) return;  // counted from its record's last one
    last_ = std::max(last_, token);
    if (end_ - last_ < (end_ - begin_) / 2) ask_at_ = std::min(ask_at_, now_);
}

/// Four to eight times what was used of the last one, so that the next is not half used before it is renewed.
lease::Token TokenBlocks::size_of_next() const {
    return std::clamp(std::bit_ceil(4 * (last_ - begin_) + 1), min_size, max_size);
}

void TokenBlocks::reserve() {
    asking_ = true;
    const Instant asked_at = now_;
    const lease::Token size = size_of_next();
    const auto first = std::make_shared<lease::Token>(0);
    document_.change(
        [this, first, size](const Reading& found) {
            const lease::Token highest = parse_number(found.value.bytes).value_or(0);
            const std::int64_t clock = found.wall_ms != 0 ? found.wall_ms : parts_.wall_ms();
            *first = std::max(highest, floor_at(clock));
            return std::to_string(*first + size);
        },
        [this, first, size, asked_at](const Result<Reading>& reserved) {
            asking_ = false;
            ask_at_ = now_ + (reserved ? renewed_after : blocks_pause);
            failure_.reset();
            if (!reserved) failure_ = reserved.error();
            if (reserved && *first + size >= lease::token_limit)
                failure_ = Error{Code::store_unavailable, "all tokens up to the highest are reserved"};
            if (failure_) return;
            reserved_at_ = asked_at;
            begin_ = last_ = *first;
            end_ = *first + size;
        });
}

}  // namespace holdfast::store::cas
