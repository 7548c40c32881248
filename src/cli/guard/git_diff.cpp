#include "cli/guard/git_diff.h"

#include <optional>

namespace holdfast {
namespace {

/// Takes the text up to the next NUL.
std::optional<std::string_view> take_field(std::string_view& rest) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view field = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return field;
}

/// The letter at the end of `:100644 100644 3b18e51 9daeafb M`.
std::optional<FileChange> change_of(std::string_view summary) {
    const std::size_t blank = summary.rfind(' ');
    if (!summary.starts_with(':') || blank == std::string_view::npos || blank + 1 == summary.size())
        return std::nullopt;
    switch (summary[blank + 1]) {
        case 'A':
            return FileChange::added;
        case 'D':
            return FileChange::deleted;
        case 'M':
        case 'T':
        case 'U':
            return FileChange::modified;
        default:
            return std::nullopt;
    }
}

}  // namespace

const char* to_string(FileChange change) {
    if (change == FileChange::added) return "added";
    return change == FileChange::deleted ? "deleted" : "modified";
}

Result<std::vector<TouchedFile>> read_raw_diff(std::string_view output) {
    std::vector<TouchedFile> files;
    while (!output.empty()) {
        const auto summary = take_field(output);
        const auto path = summary ? take_field(output) : std::nullopt;
        const auto change = path ? change_of(*summary) : std::nullopt;
        if (!change || path->empty()) return Error{"git_failed", "git described the staged files in an unknown way"};
        files.push_back({std::string(*path), *change});
    }
    return files;
}

}  // namespace holdfast
