#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// What is known of the clock of one Redis, by its answers.
///
/// A Redis by itself is the engine's clock, as it is. In a cluster, each master has a clock of its own, and what is
/// kept is kept by that clock; above, they must look like one. So each is seen with its difference to this machine's
/// clock taken off. That differs by no more than a round trip from what it is, drifts along with the clocks, and
/// matters to nobody else: what one front writes and another reads stays on the master's own clock, to the nanosecond.
/// When a clock steps ahead, the first answer that is passed on is seen as it is, for whoever is above to notice; only
/// from then on it is followed.
class NodeClock {
 public:
    enum class Kind : std::uint8_t { alone, in_cluster };

    explicit NodeClock(Kind kind) : in_cluster_(kind == Kind::in_cluster) {}

    struct Answer {
        Micros said;
        Instant asked;
        Instant received;
        bool passed_on = false;  ///< with its time, to whoever is above
    };
    /// True if the clock stepped since the answer before: went on by at least a second more, or less, than this one.
    bool observe(const Answer& answer) {
        const Duration said = std::chrono::microseconds(answer.said);
        const Duration least = said - answer.received.time_since_epoch();
        const Duration most = said - answer.asked.time_since_epoch();
        const bool stepped = last_ && (least > last_most_ + step || most < last_least_ - step);
        if (in_cluster_) follow(least, most, answer.passed_on);
        last_ = true;
        last_least_ = least;
        last_most_ = most;
        return stepped;
    }

    EngineTime seen(EngineTime at_node) const { return shifted(at_node, -difference_); }
    EngineTime at_node(EngineTime seen) const { return shifted(seen, difference_); }

    /// No less than what its clock shows at that time of this machine, unless it stepped.
    EngineTime at_most(Instant now) const { return EngineTime{now.time_since_epoch() + last_most_}; }

 private:
    static constexpr Duration step = 1s;

    static EngineTime shifted(EngineTime time, Duration by) {
        return time == EngineTime::max() || time == EngineTime::min() ? time : time + by;
    }

    void follow(Duration least, Duration most, bool passed_on) {
        const bool ahead = last_ && least > difference_ + step;
        if (!ahead || shown_) difference_ = last_ ? std::clamp(difference_, least, most) : least;
        shown_ = ahead && !shown_ && passed_on;
    }

    bool in_cluster_;
    bool shown_ = false;  // that it stepped ahead
    bool last_ = false;
    Duration difference_{0};                 // its clock less this one; 0 where it is taken as it is
    Duration last_least_{0}, last_most_{0};  // the same, of the answer before
};

}  // namespace holdfast::redis_engine
