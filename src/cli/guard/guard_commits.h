#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/guard/git_repository.h"

namespace holdfast::cli::guard {

/// One branch update, as git reports it to a hook.
struct BranchUpdate {
    std::string branch;  ///< `refs/heads/main`
    std::string after;   ///< the new commit

    bool operator==(const BranchUpdate&) const = default;
};

/// Parses the input of `reference-transaction`: a line `OLD NEW REF` for each ref. Keeps only branches, without
/// deletions.
std::vector<BranchUpdate> read_transaction(std::string_view input);

/// Parses the input of `pre-push`: a line `REF COMMIT REMOTE-REF REMOTE-COMMIT` for each ref. Deletions are left out.
struct PushedTip {
    std::string commit;
    std::string remote_commit;  ///< empty: new there

    bool operator==(const PushedTip&) const = default;
};
std::vector<PushedTip> read_pushed(std::string_view input);

/// The commits of a repository that were checked when they entered a branch, as a file of their ids; and the base
/// commit, from which on commits are checked: the history before it is accepted unchecked. Write errors are ignored:
/// the commits are then checked again.
class CheckedCommits {
 public:
    explicit CheckedCommits(std::string path);

    bool contains(const std::string& id) const { return ids_.contains(id); }
    void add(const std::vector<GitRepository::Commit>& commits);

    /// Empty: commits are checked from the first one on.
    const std::string& base() const { return base_; }
    /// Sets the base, once: installing the guard again must not accept commits that it has not checked.
    void begin_at(const std::string& commit);
    /// The guard is uninstalled; a later installation sets a new base.
    void forget_base();

 private:
    std::string base_path() const { return path_ + ".base"; }

    std::string path_;
    std::string base_;
    std::set<std::string> ids_;
};

/// Commits that have to be checked, and the files they change.
struct UncheckedCommits {
    std::vector<GitRepository::Commit> commits;
    std::vector<TouchedFile> files;
};

/// The commits that enter branches and were not checked before. Commits in a remote-tracking branch were checked where
/// they were pushed from, and commits before the base are accepted unchecked. For a new branch, commits in another
/// branch do not count.
Result<UncheckedCommits> new_in_branches(const GitRepository& repository, const CheckedCommits& checked,
                                         const std::vector<BranchUpdate>& updates);

/// The pushed commits that were not checked before.
Result<UncheckedCommits> new_in_push(const GitRepository& repository, const CheckedCommits& checked,
                                     const std::vector<PushedTip>& tips);

}  // namespace holdfast::cli::guard
