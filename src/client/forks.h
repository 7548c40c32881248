#pragma once

#include <cstdint>

namespace holdfast::client {

/// The number of forks between this process and the one that loaded the library. A lease belongs to the process that
/// acquired it: a child has no keeper thread, and its parent may release the lease at any time, so the lease is not
/// held in the child. An object detects a fork by comparing the count at its construction with this one; one load, no
/// system call.
std::uint32_t forks() noexcept;

}  // namespace holdfast::client
