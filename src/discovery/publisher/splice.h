#pragma once

#include <functional>

#include "discovery/publisher/dial.h"

namespace holdfast::discovery {

/// Held of one direction of a stream, at most.
inline constexpr std::size_t splice_buffer_bytes = 32 * 1024;

/// Copies bytes both ways between two connections of one loop until both directions have ended. The end of one is
/// passed on, and the other goes on; a side that does not read stops the other from being read; a side that resets
/// resets the other. Then calls back, once. If the loop goes before, both are reset, and nobody is called.
void splice(Socket one, Socket other, std::function<void()> done);

}  // namespace holdfast::discovery
