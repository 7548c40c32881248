#pragma once

#include <holdfast/client.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::client::agent {

/// The state that an agent needs to resume in its next incarnation.
struct Digest {
    std::string id{};
    std::string session{};  ///< the same in every incarnation, so that one does not conflict with the next (G2)
    std::uint64_t epoch = 0;
    std::optional<std::int64_t> priority{};  ///< none until the server has confirmed one
    std::string checkpoint{};
    std::vector<Intent> pending{};
};

inline constexpr std::size_t max_checkpoint_bytes = 64 * 1024;
/// The limit on the whole digest; a manifest of 256 names of 4 KiB fits, even if every byte is escaped.
inline constexpr std::size_t max_digest_bytes = 8 * 1024 * 1024;

/// Error code `invalid_argument` for a checkpoint that is too long or not UTF-8.
Result<void> check_checkpoint(std::string_view checkpoint);

/// One line with format, version and checksum, and one line of JSON.
std::string to_text(const Digest& digest);

/// Error code `digest_damaged` for an incomplete or malformed digest, `digest_version` for one of a later version.
Result<Digest> parse_digest(std::string_view text);

/// A digest on disk, and the lock that lets one process write it: two incarnations of one agent must not overwrite each
/// other's digest. A save is atomic, also across a loss of power.
class DigestFile {
 public:
    /// An empty path: nothing is saved.
    explicit DigestFile(std::string path) : path_(std::move(path)) {}
    ~DigestFile();
    DigestFile(const DigestFile&) = delete;
    DigestFile& operator=(const DigestFile&) = delete;

    /// Takes the lock and reads the digest; returns nothing if there is no file. Error codes as parse_digest(), and
    /// `digest_in_use`, `storage_failed`.
    Result<std::optional<Digest>> load();

    /// Error code `storage_failed`: the previous digest is then intact. REQUIRES: load() succeeded.
    Result<void> save(const Digest& digest) const;

 private:
    Result<void> lock();

    const std::string path_;
    int lock_ = -1;
};

}  // namespace holdfast::client::agent
