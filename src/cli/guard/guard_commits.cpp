#include "cli/guard/guard_commits.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/fd.h"

namespace holdfast::cli::guard {
namespace {

using Commit = GitRepository::Commit;

/// Beyond this many the older half is forgotten. Commits that old are in a remote-tracking branch, or in every branch.
constexpr std::size_t max_checked = 200'000;

/// A missing object is all zeros, for any length of ids.
bool is_none(const std::string& id) {
    return id.find_first_not_of('0') == std::string::npos;
}

/// Commits reachable from these were checked elsewhere, or are accepted unchecked.
std::vector<std::string> passed(const GitRepository& repository, const CheckedCommits& checked) {
    std::vector<std::string> names{"--remotes"};
    if (!checked.base().empty() && !repository.commit_at(checked.base()).empty()) names.push_back(checked.base());
    return names;
}

/// The commit at the tip of a branch, if it was checked: a commit that amends it is compared with it.
Result<std::optional<Commit>> checked_commit(const GitRepository& repository, const CheckedCommits& checked,
                                             const std::string& id) {
    if (id.empty()) return std::optional<Commit>{};
    if (!checked.contains(id)) {
        const auto not_pushed = repository.commits({id}, passed(repository, checked));
        if (!not_pushed) return not_pushed.error();
        if (!not_pushed->empty()) return std::optional<Commit>{};
    }
    const auto itself = repository.commits({id}, {id + "^@"});
    if (!itself) return itself.error();
    return itself->empty() ? std::optional<Commit>{} : itself->front();
}

/// Collects the changes of commits that have to be checked.
class Collection {
 public:
    Collection(const GitRepository& repository, const CheckedCommits& checked)
        : repository_(repository), checked_(checked) {}

    /// `before` is a checked commit that one of them may amend.
    Result<void> add(const std::vector<Commit>& commits, const std::optional<Commit>& before) {
        for (const Commit& commit : commits) {
            if (checked_.contains(commit.id)) continue;
            const bool amends = before && before->parents == commit.parents;
            const auto changed =
                amends ? repository_.changed_between(before->id, commit.id) : repository_.changed_by(commit);
            if (!changed) return changed.error();
            for (const TouchedFile& file : *changed)
                changes_[file.path].insert(file.change);
            commits_.push_back(commit);
        }
        return {};
    }

    UncheckedCommits result() const {
        UncheckedCommits found{commits_, {}};
        for (const auto& [path, changes] : changes_)
            for (const FileChange change : changes)
                found.files.push_back({path, change});
        return found;
    }

 private:
    const GitRepository& repository_;
    const CheckedCommits& checked_;
    std::vector<Commit> commits_;
    std::map<std::string, std::set<FileChange>> changes_;
};

}  // namespace

std::vector<BranchUpdate> read_transaction(std::string_view input) {
    std::vector<BranchUpdate> updates;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string before;
        BranchUpdate update;
        words >> before >> update.after >> update.branch;
        if (update.branch.starts_with("refs/heads/") && !is_none(update.after)) updates.push_back(std::move(update));
    }
    return updates;
}

std::vector<PushedTip> read_pushed(std::string_view input) {
    std::vector<PushedTip> tips;
    std::istringstream lines{std::string(input)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string ref;
        std::string remote_ref;
        PushedTip tip;
        words >> ref >> tip.commit >> remote_ref >> tip.remote_commit;
        if (is_none(tip.remote_commit)) tip.remote_commit.clear();
        if (!tip.commit.empty() && !is_none(tip.commit)) tips.push_back(std::move(tip));
    }
    return tips;
}

CheckedCommits::CheckedCommits(std::string path) : path_(std::move(path)) {
    std::vector<std::string> lines;
    std::ifstream file{path_};
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    file.close();
    if (lines.size() > max_checked) {
        lines.erase(lines.begin(), lines.end() - max_checked / 2);
        std::ofstream fresh{path_ + ".new", std::ios::trunc};
        for (const std::string& line : lines)
            fresh << line << '\n';
        fresh.close();
        std::error_code ignored;
        if (fresh) std::filesystem::rename(path_ + ".new", path_, ignored);
    }
    ids_.insert(lines.begin(), lines.end());
    std::ifstream base{base_path()};
    std::getline(base, base_);
}

void CheckedCommits::begin_at(const std::string& commit) {
    if (commit.empty() || std::filesystem::exists(base_path())) return;
    std::ofstream{base_path()} << commit << '\n';
    base_ = commit;
}

void CheckedCommits::forget_base() {
    std::error_code ignored;
    std::filesystem::remove(base_path(), ignored);
    base_.clear();
}

void CheckedCommits::add(const std::vector<Commit>& commits) {
    std::string text;
    for (const Commit& commit : commits)
        if (ids_.insert(commit.id).second) text += commit.id + "\n";
    const Fd file = open_file(path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    if (file) (void)write_all(file.get(), text);
}

Result<UncheckedCommits> new_in_branches(const GitRepository& repository, const CheckedCommits& checked,
                                         const std::vector<BranchUpdate>& updates) {
    Collection found{repository, checked};
    for (const BranchUpdate& update : updates) {
        const std::string before = repository.commit_at(update.branch);
        if (before == update.after) continue;
        std::vector<std::string> without = passed(repository, checked);
        without.push_back(before.empty() ? "--branches" : before);
        const auto commits = repository.commits({update.after}, without);
        if (!commits) return commits.error();
        if (commits->empty()) continue;
        const auto amended = checked_commit(repository, checked, before);
        if (!amended) return amended.error();
        if (auto done = found.add(*commits, *amended); !done) return done.error();
    }
    return found.result();
}

Result<UncheckedCommits> new_in_push(const GitRepository& repository, const CheckedCommits& checked,
                                     const std::vector<PushedTip>& tips) {
    Collection found{repository, checked};
    for (const PushedTip& tip : tips) {
        if (repository.commit_at(tip.commit).empty()) continue;  // a tag of something else
        std::vector<std::string> without = passed(repository, checked);
        const std::string there = tip.remote_commit.empty() ? "" : repository.commit_at(tip.remote_commit);
        if (!there.empty()) without.push_back(there);
        const auto commits = repository.commits({tip.commit}, without);
        if (!commits) return commits.error();
        if (auto done = found.add(*commits, std::nullopt); !done) return done.error();
    }
    return found.result();
}

}  // namespace holdfast::cli::guard
