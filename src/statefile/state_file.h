#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "statefile/sqlite.h"

namespace holdfast {

/// Opens the state file, or creates it if there is none. A file that is damaged, empty, not ours or of another version
/// is refused (`state_corrupt`, `state_too_new`, `state_too_old`) and left as it is: starting afresh over it would
/// forget which tokens were issued (G3) and which leases may be active (S1).
///
/// REQUIRES: the directory is locked (StateDir), so that no other process has the file.
Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path);

}  // namespace holdfast
