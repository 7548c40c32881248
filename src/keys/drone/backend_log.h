#pragma once

#include <set>
#include <string>
#include <string_view>

#include "supervise/fd.h"

namespace holdfast::drone {

/// What one backend wrote: `ID.log`, and before it `ID.log.1`, neither longer than it may be. What cannot be written is
/// dropped: a full disk must not stop a backend.
class BackendLog {
 public:
    BackendLog(std::string path, std::size_t max_bytes);

    void append(std::string_view text);

 private:
    void open();
    void rotate();

    std::string path_;
    std::size_t max_bytes_;
    std::size_t size_ = 0;
    Fd file_;
};

/// Deletes logs, the oldest first, until those of so many backends are left. Those of `in_use` stay.
void prune_logs(const std::string& directory, std::size_t keep, const std::set<std::string>& in_use);

}  // namespace holdfast::drone
