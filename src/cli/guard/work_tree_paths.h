#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/guard/work_tree_files.h"

namespace holdfast {

/// What a path means, as names of resources (work_tree_names.h). Granted all of them, nobody else can be granted the
/// file under another spelling of its path.
struct ResolvedPath {
    std::vector<std::string> names;  ///< at least one
    /// What is claimed other than the file that was said, and why, as a sentence. Empty: there is nothing to say.
    std::string note;
};

/// Which files of the work tree a user or a model means by a path. It is read as written if that exists; else without
/// blanks and quotes around it, with `/` for `\`; and if there is a file of that name without what is often put around
/// paths (`@`, `a/` of a diff, `:LINE`, a full stop, %XX for characters, blanks around a part), it means that file, and
/// the note says so.
///
/// - The path is absolute or from the root; `file://…` is absolute, and `FILE:/…` is the name of a resource, in which
///   %XX stands for a byte and nothing is guessed.
/// - Links on the way are followed. A link at the end means itself and what it leads to.
/// - A directory means the tree below it. So does a path that ends in `/` or `/**`. A submodule means itself and its
///   tree.
/// - A pattern (`*`, `?`, `[…]`, `{…,…}`, `(…|…)`, `!(…)`) means the smallest tree that contains it.
/// - A path that does not exist is a new file. If nothing in its last part says so, it is a tree as well.
/// - Refused with `invalid_argument` and advice: what leads out of the root, differs from an existing file only by
/// case,
///   has characters that cannot be seen, is a URL, a resource of another kind, the id of a lease, several paths, or
///   below a file.
///
/// REQUIRES: the root is absolute.
Result<ResolvedPath> resolve_path(const WorkTreeFiles& files, const std::string& root, const std::string& path);

/// True if the text is the name of a file's resource, or a file's URL: `FILE:/src/main.c`, `file:///tmp/x`.
bool names_a_file(std::string_view text);

/// True if a resource is the path of a file by its looks, or because there is such a file, and has no kind
/// (`SYMBOL:parse_config`). As the name of a resource it would protect nothing.
bool looks_like_a_path(const WorkTreeFiles& files, const std::string& root, const std::string& resource);

}  // namespace holdfast
