#pragma once

#include "base/result.h"
#include "supervise/fd.h"

namespace holdfast {

/// Copies standard input to the socket and the socket to standard output until both have ended. The end of standard
/// input is passed on, and the answer still comes. Error `stream_broken` if one of them broke.
Result<void> copy_standard_streams(Fd socket);

}  // namespace holdfast
