#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "statefile/sqlite.h"

namespace holdfast {

/// Opens the state file and creates it if there is none. A file that is damaged, empty, not ours or written by a newer
/// version is refused (`state_corrupt`, `state_too_new`) and left as it is: to start afresh over it would forget which
/// tokens were issued (G3) and which leases may be alive (S1). A file of an older version is brought up to this one;
/// that version then refuses it.
///
/// REQUIRES: the directory is locked (StateDir), so nobody else has the file.
Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path);

}  // namespace holdfast
