#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "consensus/log_messages.h"
#include "statefile/sqlite.h"

namespace holdfast::consensus::disk {

/// The file of one node's part of the replicated log. Blocking; for one thread at a time.
class LogFile {
 public:
    /// Opens the file, or creates it if there is none. A file that is damaged, empty, not ours or written by a newer
    /// version is refused (`state_corrupt`, `state_too_new`) and left as it is: starting afresh over it would take back
    /// promises and entries that others count on (L1). REQUIRES: the directory is locked (StateDir).
    static Result<std::unique_ptr<LogFile>> open(const std::string& path);

    /// The state read at open(). Call once: it is moved out.
    LogFound take_found() { return std::move(found_); }

    /// Writes all of them in one transaction, in this order. On success all are durable, otherwise none is.
    Result<void> write(const std::vector<LogWrite>& writes);

 private:
    explicit LogFile(std::unique_ptr<statefile::Sqlite> database) : database_(std::move(database)) {}

    void read_found();
    void read_decrees();
    void write_one(const LogWrite& write);
    void seal_marks();
    void corrupt(const std::string& what);

    std::unique_ptr<statefile::Sqlite> database_;
    LogFound found_;
};

}  // namespace holdfast::consensus::disk
