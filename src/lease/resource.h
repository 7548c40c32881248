#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::core {

/// The one name of a resource within its namespace: no blanks around it, no `//`, no trailing `/`; in a `FILE:` path no
/// `/./` either. Error code `invalid_argument` for a `FILE:` path with `..`, or with `**` before its end: where those
/// lead only a file system knows.
Result<std::string> normalised(std::string_view resource);

/// Where a resource lies among the files of its namespace. `FILE:/a/b` is the path `/a/b`; `FILE:/a/**` is the tree
/// below
/// `/a`.
struct FilePath {
    std::string_view scope;  ///< what comes before the path: `FILE:` or `@namespace/FILE:`
    std::string_view path;   ///< without the `/**`; empty for the tree below the root
    bool tree = false;
};

/// Nothing for a resource that is not a file. REQUIRES: the full name, normalised.
std::optional<FilePath> file_path(std::string_view full_name);

/// True if the two are different and one of them lies in the other: one is a tree, and the other a file or tree below.
bool overlap(const FilePath& a, const FilePath& b);

}  // namespace holdfast::core
