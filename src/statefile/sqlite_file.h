#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "statefile/sqlite.h"

namespace holdfast {

/// A kind of file that we keep.
struct SqliteFile {
    const char* called;           ///< in messages: "the state file"
    std::int64_t application_id;  ///< which the schema sets
    std::int64_t version;         ///< likewise
    const char* schema;
    const char* what_to_do;  ///< with one that is damaged
};

/// Opens the file and creates it if there is none. One that is damaged, empty, not ours or of another version is
/// refused
/// (`state_corrupt`, `state_too_new`, `state_too_old`) and left as it is. What is committed stays so after a power cut.
///
/// REQUIRES: the directory is locked (StateDir), so nobody else has the file.
Result<std::unique_ptr<Sqlite>> open_file(const SqliteFile& kind, const std::string& path);

/// The same error, and if the file is damaged, what to do.
Error with_advice(const SqliteFile& kind, Error error);

}  // namespace holdfast
