#pragma once

#include "agreed/replicated_state.h"

namespace holdfast {

/// Where a server keeps its part of the log.
struct ReplicatedFile {
    std::string path;                      ///< REQUIRES: in a directory that is locked (StateDir)
    std::function<void(Callback<>)> post;  ///< runs a function on the loop; callable from any thread
};

/// A ReplicatedState on a file, which is written by a thread of its own. It fills in the disk, and what is on it, of
/// `parts`. Errors: as of LogFile and ReplicatedState::make().
Result<std::unique_ptr<ReplicatedState>> open_replicated_state(ReplicatedFile file, ReplicatedState::Parts parts);

}  // namespace holdfast
