#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/guard/work_tree_files.h"

namespace holdfast::cli::guard {

/// A path as a user or a model meant it, not resolved yet.
struct WrittenPath {
    struct Part {
        std::string text;
        bool literal = false;  ///< never a pattern, whatever it contains
    };
    bool absolute = false;   ///< otherwise from the root of the work tree
    bool exact = false;      ///< a resource name: nothing is guessed
    bool directory = false;  ///< it ends in a slash
    std::vector<Part> parts;
    std::string note;  ///< a sentence that says what was read instead of the text; empty: the text itself
};

/// Finds out which path the text means (work_tree_paths.h). Refused with `invalid_argument` and advice if it means none
/// of this machine, or one that is unlikely to be created.
///
/// REQUIRES: the root is absolute, and free of links.
Result<WrittenPath> read_path(const WorkTreeFiles& files, const std::string& root, const std::string& text);

/// True if the path exists as written, and cannot be a pattern.
bool exists_as_written(const WorkTreeFiles& files, const std::string& root, const std::string& path);

/// True if the part is a pattern even if there is a file of that name.
bool is_pattern(const WrittenPath::Part& part);

/// True if a pattern begins at this part, unless there is a file of that name: brackets, braces and alternatives.
bool may_begin_pattern(const std::vector<WrittenPath::Part>& parts, std::size_t at);

/// True if the text is the name of a file's resource, or a file's URL: `FILE:/src/main.c`, `file:///tmp/x`.
bool names_a_file(std::string_view text);

/// True if a resource has no kind (such as `SYMBOL:parse_config`), and has the form of a file's path or is the path of
/// an existing file. As a resource name it would protect nothing.
bool looks_like_a_path(const WorkTreeFiles& files, const std::string& root, const std::string& resource);

}  // namespace holdfast::cli::guard
