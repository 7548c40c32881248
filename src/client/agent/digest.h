#pragma once

#include <holdfast/client.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast {

/// What an agent must know to go on in its next life.
struct Digest {
    std::string id{};
    std::string session{};  ///< the same in every life, so that a life is not in the way of the next (G2)
    std::uint64_t epoch = 0;
    std::optional<std::int64_t> priority{};  ///< none until the server has confirmed one
    std::string checkpoint{};
    std::vector<Intent> pending{};
};

inline constexpr std::size_t max_checkpoint_bytes = 64 * 1024;
/// Of the whole; a manifest of 256 names of 4 KiB fits, whatever has to be escaped.
inline constexpr std::size_t max_digest_bytes = 8 * 1024 * 1024;

/// Error code `invalid_argument` for a checkpoint that is too long or not UTF-8.
Result<void> check_checkpoint(std::string_view checkpoint);

/// One line with format, version and checksum, and one line of JSON.
std::string to_text(const Digest& digest);

/// Error code `digest_damaged` for what is not a whole digest, `digest_version` for one of a later version.
Result<Digest> parse_digest(std::string_view text);

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
