#pragma once

#include "agreed/replicated_state.h"

namespace holdfast::server {

/// Where a server stores its share of the log.
struct ReplicatedFile {
    std::string path;                      ///< REQUIRES: in a directory that is locked (StateDir)
    std::function<void(Callback<>)> post;  ///< runs a function on the loop; callable from any thread
};

/// Opens a ReplicatedState on a file. A separate thread writes the file. This sets the disk and the state found on it
/// in `parts`. Errors: those of LogFile and ReplicatedState::make().
Result<std::unique_ptr<agreed::ReplicatedState>> open_replicated_state(ReplicatedFile file,
                                                                       agreed::ReplicatedState::Parts parts);

}  // namespace holdfast::server
