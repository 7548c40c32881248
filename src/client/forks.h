#pragma once

#include <cstdint>

namespace holdfast {

/// How many forks lie between this process and the one that loaded the library. A lease belongs to the process that
/// took it: a child has no keeper thread, and its parent may release the lease at any time, so in the child it is not
/// held. What was made before a fork compares its own count with this one; one load, no system call.
std::uint32_t forks() noexcept;

}  // namespace holdfast
