#pragma once

#include "base/time.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// What is known of the clock of a Redis, by its answers.
class NodeClock {
 public:
    struct Answer {
        Micros said;
        Instant asked;
        Instant received;
    };
    /// True if the clock stepped since the answer before: went on by at least a second more, or less, than this one.
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

    /// No less than what it shows at that time of this machine, unless it stepped.
    EngineTime at_most(Instant now) const { return EngineTime{now.time_since_epoch() + most_}; }

 private:
    static constexpr Duration step = 1s;

    bool known_ = false;
    Duration least_{0}, most_{0};  // that it is ahead of this one, by the last answer
};

}  // namespace holdfast::redis_engine
