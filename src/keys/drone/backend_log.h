#pragma once

#include <set>
#include <string>
#include <string_view>

#include "supervise/fd.h"

namespace holdfast::drone {

/// The output of one backend: `ID.log`, and the older part in `ID.log.1`, each of limited size. Output that cannot be
/// written is dropped: a full disk must not block a backend.
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

/// Deletes the oldest logs until those of `keep` backends are left. Backends in `in_use` are not counted and keep their
/// logs.
void prune_logs(const std::string& directory, std::size_t keep, const std::set<std::string>& in_use);

}  // namespace holdfast::drone
