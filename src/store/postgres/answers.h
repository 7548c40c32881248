#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/cas/engine.h"
#include "store/postgres/rows.h"

namespace holdfast::postgres {

// What the functions of the schema answered. Error `store_unavailable` if it is not what they answer: somebody changed
// them, or what they work on.

Result<core::Reading> reading_in(const Rows& rows);
/// Of the statement `swap` or `change`, or a part of `swaps`.
Result<core::Swapped> swapped_in(const Rows& rows, core::WriteId expected);
/// What `swaps` answered, for each of as many as were asked for, as `swap` answers.
Result<std::vector<Rows>> parts_in(const Rows& rows, std::size_t asked);
/// At most so many entries, and whether there were more.
Result<core::Sight> sight_in(const Rows& rows, std::size_t most);
Result<std::vector<std::string>> names_in(const Rows& rows);
Result<std::int64_t> number_in(const Rows& rows);
/// What a server's process waited for when it was ended, for people; empty if that is not known.
std::string wait_in(const Rows& rows);

inline core::EngineTime engine_time(std::int64_t ns) {
    return core::EngineTime(core::EngineTime::duration(ns));
}
inline std::int64_t to_ns(core::EngineTime time) {
    return time.time_since_epoch().count();
}

}  // namespace holdfast::postgres
