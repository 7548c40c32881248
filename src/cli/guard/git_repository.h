#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/guard/git_diff.h"

namespace holdfast {

/// A git repository with a work tree, asked through the git command, so that all of git's own settings hold: GIT_DIR,
/// GIT_INDEX_FILE, linked work trees, core.hooksPath.
class GitRepository {
 public:
    /// The repository that a directory is in; empty: the current one. The error is `no_repository`, or `no_git` if
    /// there is no git to ask.
    static Result<GitRepository> open(const std::string& directory = {});

    /// The same for a hook, which git may also run where there is no work tree; root() is empty then.
    static Result<GitRepository> open_for_hook();

    /// The root of the work tree, absolute.
    const std::string& root() const { return root_; }

    /// A setting of git config, such as `holdfast.holder`; empty if there is none.
    std::string setting(const std::string& name) const;
    /// A setting that is true or false. Nothing if it is neither.
    std::optional<bool> flag(const std::string& name) const;

    /// What a commit would change now. In a merge, only what is like none of its sides: the rest was changed by those
    /// who committed it there.
    Result<std::vector<TouchedFile>> staged() const;

    struct Commit {
        std::string id;
        std::vector<std::string> parents;
    };
    /// The commits that lead to `tips` and not to `without`, which may also be `--branches` and `--remotes`.
    Result<std::vector<Commit>> commits(const std::vector<std::string>& tips,
                                        const std::vector<std::string>& without) const;
    /// What a commit changes; of a merge, what is like none of its parents.
    Result<std::vector<TouchedFile>> changed_by(const Commit& commit) const;
    Result<std::vector<TouchedFile>> changed_between(const std::string& from, const std::string& to) const;
    /// What a name stands for; empty if there is no such commit.
    std::string commit_at(const std::string& name) const;
    /// The directory that all work trees of the repository share; absolute, empty if git does not say.
    std::string common_directory() const;

    /// Where git looks for a hook; absolute.
    Result<std::string> hook_path(const std::string& hook) const;

 private:
    explicit GitRepository(std::string directory) : directory_(std::move(directory)) {}
    Result<std::string> ask(std::vector<std::string> arguments) const;
    Result<std::string> ask_line(std::vector<std::string> arguments) const;
    Result<std::vector<TouchedFile>> compared_with(const std::string& tree) const;
    /// The other sides of the merge under way.
    std::vector<std::string> merged_heads() const;
    Result<std::string> empty_tree() const;

    std::string directory_;
    std::string root_;
};

/// Who works in a work tree, and in which namespace its files are named. The agent that claims a file (`mcp`) and the
/// hook that checks its commit (`guard`) are different processes and must come to the same answer.
struct WorkTreeIdentity {
    std::string holder;
    std::string name_space;  ///< never empty
};

/// What was said (an option or its variable), else `holdfast.holder` and `holdfast.namespace` of git config, else the
/// default of every command. The repository may be null.
WorkTreeIdentity work_tree_identity(const WorkTreeIdentity& said, const GitRepository* repository);

}  // namespace holdfast
