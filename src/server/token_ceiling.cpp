#include "server/token_ceiling.h"

#include <algorithm>

#include "store/quorum/acceptor.h"

namespace holdfast::server {
namespace {

constexpr Duration wall_looked_at_every = 1min;
constexpr Duration ceiling_pause = 1s;

}  // namespace

void TokenCeiling::advance(Instant now) {
    now_ = now;
    if (now >= look_at_wall_) {
        look_at_wall_ = now + wall_looked_at_every;
        parts_.acceptor.expect_counter(static_cast<std::uint64_t>(std::max<std::int64_t>(parts_.wall_ms(), 0)));
    }
    if (!wanted_) wanted_ = parts_.acceptor.wants_ceiling();
    if (!wanted_ || under_way_ || now < try_at_) return;
    under_way_ = true;
    parts_.durable.reserve_tokens(*wanted_, [this](const Result<void>& reserved) {
        under_way_ = false;
        try_at_ = now_ + ceiling_pause;
        if (!reserved) return;  // retried after a pause
        parts_.acceptor.raise_token_ceiling(*wanted_);
        wanted_.reset();
        try_at_ = now_;
    });
}

Instant TokenCeiling::next_due() const {
    if (wanted_ && !under_way_) return std::min(look_at_wall_, try_at_);
    return look_at_wall_;
}

}  // namespace holdfast::server
