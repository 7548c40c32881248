#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

using SteadyClock = std::chrono::steady_clock;

/// What the clients saw in one stretch of load: how long each operation took, from when it was first asked for to the
/// answer that it has succeeded, and when it did. What was asked again in between is counted as a retry.
class Score {
 public:
    explicit Score(SteadyClock::time_point start) : start_(start), last_good_(start) {}

    void good(SteadyClock::time_point asked, SteadyClock::time_point answered);
    void retried(std::string_view why);

    /// To be called once, with the end of the stretch. Operations that were still open then are not in it, but how long
    /// their clients had waited is.
    std::string to_json(SteadyClock::time_point end);
    void still_waiting(SteadyClock::time_point asked, SteadyClock::time_point end);

 private:
    double percentile(double share) const;

    SteadyClock::time_point start_;
    SteadyClock::time_point last_good_;
    SteadyClock::duration longest_gap_{};   ///< in which nobody's operation succeeded
    SteadyClock::duration longest_wait_{};  ///< of one client for one operation
    std::vector<float> microseconds_;
    std::vector<std::uint32_t> per_100ms_;
    std::uint64_t retries_ = 0;
    std::string first_retry_;
};

}  // namespace holdfast::bench
