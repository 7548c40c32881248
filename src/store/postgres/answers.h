#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/cas/engine.h"
#include "store/postgres/rows.h"

namespace holdfast::store::postgres {

// Decode the results of the schema's functions. Error `store_unavailable` if a result is malformed: someone has changed
// the functions or their data.

Result<cas::Reading> reading_in(const Rows& rows);
/// Splits the result of a `swap` of `asked` rows into a part for each.
Result<std::vector<Rows>> parts_in(const Rows& rows, std::size_t asked);
/// Decodes such a part.
Result<cas::Swapped> swapped_in(const Rows& rows, cas::WriteId expected);
/// At most `most` entries, and whether there were more.
Result<cas::FoundRecords> records_in(const Rows& rows, std::size_t most);
Result<std::vector<std::string>> names_in(const Rows& rows);
Result<std::int64_t> number_in(const Rows& rows);
/// What a server process waited for when it was terminated, for humans; empty if unknown.
std::string wait_in(const Rows& rows);

inline cas::EngineTime engine_time(std::int64_t ns) {
    return cas::EngineTime(cas::EngineTime::duration(ns));
}
inline std::int64_t to_ns(cas::EngineTime time) {
    return time.time_since_epoch().count();
}

/// What is known about the engine's clock from its replies.
class ServerClock {
 public:
    /// A reply received at `received` reported the time `now`.
    void observe(cas::EngineTime now, Instant received);

    /// The engine's time after `wait` from now, or somewhat earlier, never later; the maximum if no reply was observed.
    cas::EngineTime not_after(Instant now, Duration wait) const;

    /// True if it has run at the rate of this machine's clock, without a step, for at least `span`.
    bool is_even_for(Duration span, Instant now) const;

 private:
    std::optional<Duration> ahead_;  ///< of this machine's clock, at least
    Instant even_since_;
};

}  // namespace holdfast::store::postgres
