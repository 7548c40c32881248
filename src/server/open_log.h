#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agreed/agreement.h"
#include "consensus/log_messages.h"

namespace holdfast::server {

/// The file in which a server keeps its log, or its share of it.
struct LogPlace {
    std::string path;                                   ///< REQUIRES: in a directory that is locked (StateDir)
    std::function<void(Callback<>)> post;               ///< runs a function on the loop; callable from any thread
    std::function<void(const Error&)> on_failure = {};  ///< on the loop, for every write that failed
    std::function<void()> on_written = {};              ///< on the loop, for every write that succeeded
};

struct OpenedLog {
    std::unique_ptr<consensus::LogDisk> disk;  ///< a separate thread writes the file
    consensus::LogFound found;
};

/// Opens the log, and founds it if it is empty and that of a single server. Errors: those of LogFile.
Result<OpenedLog> open_log(LogPlace place, const agreed::Founding& founding);

}  // namespace holdfast::server
