#pragma once

#include "base/time.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// What is known about the clock of a Redis, from its replies.
class NodeClock {
 public:
    struct Answer {
        Micros said;
        Instant asked;
        Instant received;
    };
    /// Returns true if the clock stepped since the previous reply: it advanced at least a second more, or less, than
    /// this machine's.
    bool observe(const Answer& answer) {
        const Duration said = std::chrono::microseconds(answer.said);
        const Duration least = said - answer.received.time_since_epoch();
        const Duration most = said - answer.asked.time_since_epoch();
        const bool stepped = known_ && (least > most_ + step || most < least_ - step);
        known_ = true;
        least_ = least;
        most_ = most;
        return stepped;
    }

    /// An upper bound of the Redis clock at `now` on this machine, unless it stepped.
    EngineTime at_most(Instant now) const { return EngineTime{now.time_since_epoch() + most_}; }

 private:
    static constexpr Duration step = 1s;

    bool known_ = false;
    Duration least_{0}, most_{0};  // its lead over this machine's clock, from the last reply
};

}  // namespace holdfast::redis_engine
