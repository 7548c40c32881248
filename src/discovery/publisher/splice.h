#pragma once

#include <functional>

#include "discovery/publisher/dial.h"

namespace holdfast::discovery::publisher {

/// The maximum buffered per direction of a stream.
inline constexpr std::size_t splice_buffer_bytes = 32 * 1024;

/// Copies bytes both ways between two connections of one loop until both directions have ended. The end of one
/// direction is passed on while the other continues. A side that does not read stops reads from the other; a reset of
/// one side resets the other. Calls back once at the end. If the loop is destroyed first, both are reset and there is
/// no callback.
void splice(Socket one, Socket other, std::function<void()> done);

}  // namespace holdfast::discovery::publisher
