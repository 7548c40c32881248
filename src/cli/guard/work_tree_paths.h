#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/guard/work_tree_files.h"

namespace holdfast::cli::guard {

/// The resources that a path stands for (work_tree_names.h). While a holder has all of them, no other can be granted
/// the file under another spelling of its path.
struct ResolvedPath {
    std::vector<std::string> names;  ///< at least one
    /// A sentence that says what is claimed other than the named file, and why. Empty: only the named file.
    std::string note;
};

/// Resolves a path that a user or a model wrote to files of the work tree. It is read as written if that exists; else
/// without blanks and quotes around it, with `/` for `\`; and if there is a file of that name without the decorations
/// often put around paths (`@`, `a/` of a diff, `:LINE`, a full stop, %XX for characters, blanks around a part), it
/// means that file, and the note says so.
///
/// - The path is absolute or from the root; `file://…` is absolute, and `FILE:/…` is the name of a resource, in which
///   %XX stands for a byte and nothing is guessed.
/// - Links in the path are followed. A link at the end means the link itself and its target.
/// - A directory means the tree below it. So does a path that ends in `/` or `/**`. A submodule means itself and its
///   tree.
/// - A pattern (`*`, `?`, `[…]`, `{…,…}`, `(…|…)`, `!(…)`) means the smallest tree that contains it.
/// - A path that does not exist is a new file. If its last part has no extension, it is a tree as well.
/// - Refused with `invalid_argument` and advice: a path that leads out of the root, differs from an existing file only
///   by case, has invisible characters, is a URL, a resource of another kind, the id of a lease, several paths, or is
///   below a file.
///
/// REQUIRES: the root is absolute.
Result<ResolvedPath> resolve_path(const WorkTreeFiles& files, const std::string& root, const std::string& path);

}  // namespace holdfast::cli::guard
