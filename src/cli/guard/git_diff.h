#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast {

enum class FileChange { added, modified, deleted };
const char* to_string(FileChange change);

/// A file that a commit touches.
struct TouchedFile {
    std::string path;  ///< any bytes, from the root of the work tree
    FileChange change = FileChange::modified;

    bool operator==(const TouchedFile&) const = default;
};

/// Parses the output of `git diff-index --raw -z --no-renames`, in its order. A rename is a deletion and an addition:
/// git guesses renames from contents, and a guess must not decide who may commit. A change of mode or type is a
/// modification, as is a submodule that points elsewhere. The error is `git_failed`.
Result<std::vector<TouchedFile>> read_raw_diff(std::string_view output);

}  // namespace holdfast
