#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "statefile/sqlite.h"

namespace holdfast {

/// A kind of SQLite file.
struct SqliteFile {
    const char* called;           ///< in messages: "the state file"
    std::int64_t application_id;  ///< set by the schema
    std::int64_t version;         ///< set by the schema
    const char* schema;
    const char* what_to_do;  ///< advice if the file is damaged
};

/// Opens the file, or creates it if there is none. A file that is damaged, empty, not ours or of another version is
/// refused (`state_corrupt`, `state_too_new`, `state_too_old`) and left as it is. Committed data survives a power cut.
///
/// REQUIRES: the directory is locked (StateDir), so that no other process has the file.
Result<std::unique_ptr<Sqlite>> open_file(const SqliteFile& kind, const std::string& path);

/// The same error, with advice if the file is damaged.
Error with_advice(const SqliteFile& kind, Error error);

}  // namespace holdfast
