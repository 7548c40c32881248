#pragma once

#include <cstddef>

namespace holdfast {

/// Raises the limit on open files as far as `connections` need and the system lets us. Fewer only means that new
/// connections wait to be accepted.
void make_room_for_connections(std::size_t connections);

}  // namespace holdfast
