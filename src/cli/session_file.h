#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace holdfast {

/// Reads session ids, one per line, from a file or from standard input (`-`). Empty lines and those that begin with `#`
/// are passed over, blanks around an id too. An id that is named twice counts once. The error names the line.
Result<std::vector<std::string>> read_sessions(const std::string& path, bool any_id);

/// Notices that a file of sessions was changed or replaced. Standard input (`-`) never changes.
class SessionFile {
 public:
    explicit SessionFile(std::string path) : path_(std::move(path)) {}

    /// True if it can be read again.
    explicit operator bool() const { return path_ != "-"; }
    /// It is about to be read: what it is now is not a change.
    void remember();
    /// True once for each change, when the file has stayed as it is for a second: whoever writes it may not be done. A
    /// file that is gone has not changed.
    bool look(HolderInstant now);

 private:
    struct Mark {
        std::uint64_t device = 0;
        std::uint64_t number = 0;
        std::int64_t bytes = 0;
        std::int64_t changed_ns = 0;
        bool operator==(const Mark&) const = default;
    };
    std::optional<Mark> mark() const;

    const std::string path_;
    std::optional<Mark> known_;  ///< as it was when it was read
    std::optional<Mark> seen_;   ///< as it was at the last look
    HolderInstant seen_since_{};
    HolderInstant next_look_{};
};

}  // namespace holdfast
