#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/guard/git_repository.h"

namespace holdfast {

/// What git tells a hook of one branch.
struct BranchUpdate {
    std::string branch;  ///< `refs/heads/main`
    std::string after;   ///< the commit that it shall be at

    bool operator==(const BranchUpdate&) const = default;
};

/// Reads what `reference-transaction` gets: a line `OLD NEW REF` for each. Only branches that stay or come are kept.
std::vector<BranchUpdate> read_transaction(std::string_view input);

/// Reads what `pre-push` gets: a line `REF COMMIT REMOTE-REF REMOTE-COMMIT` for each. Deletions are left out.
struct PushedTip {
    std::string commit;
    std::string remote_commit;  ///< empty: new there

    bool operator==(const PushedTip&) const = default;
};
std::vector<PushedTip> read_pushed(std::string_view input);

/// The commits of a repository that were checked when they came into a branch, in a file of their ids; and the commit
/// from which on they are checked: the history before it is taken as it is. What is written is lost if the disk says
/// no: the commits are then checked again.
class CheckedCommits {
 public:
    explicit CheckedCommits(std::string path);

    bool contains(const std::string& id) const { return ids_.contains(id); }
    void add(const std::vector<GitRepository::Commit>& commits);

    /// Empty: from the first commit on.
    const std::string& base() const { return base_; }
    /// Sets the base, once: installing the guard again must not pass what it has not seen.
    void begin_at(const std::string& commit);
    /// The guard is taken away; if it comes back, it begins anew.
    void forget_base();

 private:
    std::string base_path() const { return path_ + ".base"; }

    std::string path_;
    std::string base_;
    std::set<std::string> ids_;
};

/// Commits that have to be checked, and what they change.
struct UncheckedCommits {
    std::vector<GitRepository::Commit> commits;
    std::vector<TouchedFile> files;
};

/// What comes into branches that was not checked before. What is in a remote-tracking branch was checked where it was
/// pushed from, and what is before the base is taken as it is. A new branch brings nothing that is in another branch.
Result<UncheckedCommits> new_in_branches(const GitRepository& repository, const CheckedCommits& checked,
                                         const std::vector<BranchUpdate>& updates);

/// What is pushed that was not checked before.
Result<UncheckedCommits> new_in_push(const GitRepository& repository, const CheckedCommits& checked,
                                     const std::vector<PushedTip>& tips);

}  // namespace holdfast
