#pragma once

#include <string>
#include <vector>

namespace holdfast::supervise {

/// The hidden first argument that makes an executable a guardian: `EXE __guardian SOCKET PROGRAM ARGUMENT…`.
inline constexpr const char* guardian_command = "__guardian";

/// The guardian stands between a keeper, which renews a lease, and the command that runs under it. It has one thread,
/// no network and nothing to wait for, so it acts in time when the keeper cannot: it asks the command to stop at the
/// soft deadline and kills all of it at the hard one, before the server may grant the lease again (T3, T4). It does the
/// same when the keeper dies, and it dies with nothing of the command left alive.
///
/// It has a parent of its kind, the second guardian (second_guardian.h), which acts if it cannot. That one is the
/// process that the keeper started.
///
/// `arguments` is what follows the hidden argument. Returns the exit code of the process.
int guardian_main(const std::vector<std::string>& arguments);

}  // namespace holdfast::supervise
