#include "authority/token_source.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::core {

Token TokenSource::first_after(Token issued, std::int64_t wall_ms) {
    return std::max(issued, static_cast<Token>(std::max<std::int64_t>(wall_ms, 0)));
}

std::optional<Token> TokenSource::take() {
    if (last_ >= ceiling_) return std::nullopt;
    return ++last_;
}

std::optional<Token> TokenSource::wants_ceiling() {
    if (asked_ > ceiling_ || last_ + reserve / 2 < ceiling_) return std::nullopt;
    asked_ = last_ + reserve;
    HOLDFAST_ASSERT(asked_ < token_limit);
    return asked_;
}

void TokenSource::raise(Token durable_ceiling) {
    ceiling_ = std::max(ceiling_, durable_ceiling);
    asked_ = ceiling_;
}

}  // namespace holdfast::core
