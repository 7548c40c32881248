#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli::guard {

/// How files of a git work tree are named as resources, so that the claim of a file and the check of a commit use the
/// same name: `FILE:/` and the path from the root of the work tree. `FILE:/src/main.c` is a file, `FILE:/src/**` the
/// tree below src, `FILE:/**` everything. The namespace identifies the repository.
///
/// Bytes that a resource name cannot contain, or that would be misread, are written %XX: control characters, bytes that
/// are not UTF-8, a blank at the end, a part that is `**`, and a % that looks like such an escape. Names are in Unicode
/// NFC, so that a file has one name whichever form the path is written in.

/// The name of a file. The path is as git gives it: from the root, with forward slashes, without one in front.
std::string file_resource(std::string_view path);

/// The name of the tree below a directory; an empty path is the root.
std::string tree_resource(std::string_view path);

/// A resource as people write paths: `src/main.c`. Escapes are kept: the escaped bytes must not reach a terminal.
std::string_view shown_path(std::string_view resource);

/// The text in Unicode NFC; unchanged if it is not UTF-8.
std::string to_nfc(std::string_view text);
/// The same with its case folded, to compare names.
std::string folded(std::string_view text);

}  // namespace holdfast::cli::guard
