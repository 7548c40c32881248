#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

/// How files of a git work tree are named as resources, so that whoever claims a file and whoever checks a commit mean
/// the same one: `FILE:/` and the path from the root of the work tree. `FILE:/src/main.c` is a file, `FILE:/src/**` the
/// tree below src, `FILE:/**` everything. Which repository it is, is told by the namespace.
///
/// What a resource name cannot hold, or would be read as something else, is written %XX: control characters, bytes that
/// are not UTF-8, a blank at the end, a part that is `**`, and a % that looks like such an escape.

/// The name of a file. The path is as git gives it: from the root, with forward slashes, without one in front.
std::string file_resource(std::string_view path);

/// The name of the tree below a directory; an empty path is the root.
std::string tree_resource(std::string_view path);

/// A resource as people write paths: `src/main.c`. Escapes stay: what they hide does not belong on a terminal.
std::string_view shown_path(std::string_view resource);

/// The name of what a user or an agent calls by a path: absolute or from the root; one that ends in `/**` is a tree.
/// The error is `invalid_argument` for a path that leads out of the root. REQUIRES: the root is absolute.
Result<std::string> named_by_path(const std::string& root, const std::string& path);

}  // namespace holdfast
