#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::cli::guard {

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

/// A git repository with a work tree, accessed through the git command, so that all of git's own settings apply:
/// GIT_DIR, GIT_INDEX_FILE, linked work trees, core.hooksPath.
class GitRepository {
 public:
    /// Opens the repository of a directory; empty: of the current directory. The error is `no_repository`, or `no_git`
    /// if git is not installed.
    static Result<GitRepository> open(const std::string& directory = {});

    /// The same for a hook, which git may also run where there is no work tree; root() is empty then.
    static Result<GitRepository> open_for_hook();

    /// The root of the work tree, absolute.
    const std::string& root() const { return root_; }

    /// A setting of git config, such as `holdfast.holder`; empty if there is none.
    std::string setting(const std::string& name) const;
    /// A boolean setting. Nothing if it is neither true nor false.
    std::optional<bool> flag(const std::string& name) const;

    /// The files that a commit would change now. In a merge, only those that differ from all of its sides: the other
    /// changes belong to the holders who committed them there.
    Result<std::vector<TouchedFile>> staged() const;

    struct Commit {
        std::string id;
        std::vector<std::string> parents;
    };
    /// The commits reachable from `tips` and not from `without`, which may also be `--branches` and `--remotes`.
    Result<std::vector<Commit>> commits(const std::vector<std::string>& tips,
                                        const std::vector<std::string>& without) const;
    /// The files that a commit changes; for a merge, those that differ from all of its parents.
    Result<std::vector<TouchedFile>> changed_by(const Commit& commit) const;
    Result<std::vector<TouchedFile>> changed_between(const std::string& from, const std::string& to) const;
    /// The commit that a name refers to; empty if there is no such commit.
    std::string commit_at(const std::string& name) const;
    /// The directory that all work trees of the repository share; absolute, empty if git does not report it.
    std::string common_directory() const;

    /// Where git looks for a hook; absolute.
    Result<std::string> hook_path(const std::string& hook) const;

 private:
    explicit GitRepository(std::string directory) : directory_(std::move(directory)) {}
    Result<std::string> ask(std::vector<std::string> arguments) const;
    Result<std::string> ask_line(std::vector<std::string> arguments) const;
    Result<std::vector<TouchedFile>> compared_with(const std::string& tree) const;
    /// The other sides of the current merge.
    std::vector<std::string> merged_heads() const;
    Result<std::string> empty_tree() const;

    std::string directory_;
    std::string root_;
};

/// The holder that works in a work tree, and the namespace of its files. The agent that claims a file (`mcp`) and the
/// hook that checks its commit (`guard`) are different processes and must get the same identity.
struct WorkTreeIdentity {
    std::string holder;
    std::string name_space;  ///< never empty
};

/// The given values (an option or its variable), else `holdfast.holder` and `holdfast.namespace` of git config, else
/// the default of every command. The repository may be null.
WorkTreeIdentity work_tree_identity(const WorkTreeIdentity& given, const GitRepository* repository);

}  // namespace holdfast::cli::guard
