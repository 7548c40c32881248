#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "client/agent/digest.h"

namespace holdfast {

/// A digest on disk, and the right to be the one that writes it: two lives of one agent must not overwrite each
/// other's. A save is there whole or not at all, also after a loss of power.
class DigestFile {
 public:
    /// An empty path: nothing is kept.
    explicit DigestFile(std::string path) : path_(std::move(path)) {}
    ~DigestFile();
    DigestFile(const DigestFile&) = delete;
    DigestFile& operator=(const DigestFile&) = delete;

    /// Takes the lock and reads what is there; nothing if there is no file. Error codes as parse_digest(), and
    /// `digest_in_use`, `storage_failed`.
    Result<std::optional<Digest>> load();

    /// Error code `storage_failed`: what was saved before is still there. REQUIRES: load() succeeded.
    Result<void> save(const Digest& digest) const;

 private:
    Result<void> lock();

    const std::string path_;
    int lock_ = -1;
};

}  // namespace holdfast
