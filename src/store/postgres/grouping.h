#pragma once

#include <deque>

#include "store/postgres/call.h"

namespace holdfast::postgres {

/// How many calls may be in a group that begins with this one.
std::size_t max_in_group(const Call& call);

/// Puts the calls of a group into the order of their names, in which all fronts lock rows. CasLoop become one
/// statement; the second of a row goes back to the front of the queue, for another group.
void arrange(Group& group, std::deque<CallPtr>& queue);

}  // namespace holdfast::postgres
