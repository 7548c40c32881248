#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace holdfast::cli {

/// Reads session ids, one per line, from a file or from standard input (`-`). Empty lines, lines that begin with `#`,
/// and blanks around an id are ignored. Duplicate ids count once. The error names the line.
Result<std::vector<std::string>> read_sessions(const std::string& path, bool any_id);

/// Detects that a file of sessions was changed or replaced. Standard input (`-`) never changes.
class SessionFile {
 public:
    explicit SessionFile(std::string path) : path_(std::move(path)) {}

    /// True if the file can be read again.
    explicit operator bool() const { return path_ != "-"; }
    /// To be called before the file is read: its present state does not count as a change.
    void remember();
    /// True once for each change, when the file has been stable for a second, since its writer may not be done. A
    /// missing file does not count as changed.
    bool has_changed(HolderInstant now);

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
    std::optional<Mark> known_;  ///< at the last read
    std::optional<Mark> seen_;   ///< at the last check
    HolderInstant seen_since_{};
    HolderInstant next_check_{};
};

}  // namespace holdfast::cli
