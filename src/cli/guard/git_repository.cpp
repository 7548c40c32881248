#include "cli/guard/git_repository.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/options.h"

namespace holdfast::cli::guard {
namespace {

/// Enough for a commit of a million files.
constexpr std::size_t max_output = 256U << 20;
/// `git merge` sets one for each head that it merges: GITHEAD_<commit>=<name>.
constexpr std::string_view merged_variable = "GITHEAD_";

struct SpawnActions {
    posix_spawn_file_actions_t actions{};
    SpawnActions() { posix_spawn_file_actions_init(&actions); }
    ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
};

Result<pid_t> start(std::vector<std::string>& words, int output) {
    SpawnActions plan;
    posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&plan.actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, "git", &plan.actions, nullptr, arguments.data(), environ);
    if (failed != 0) return Error{Code::no_git, fmt::format("cannot run git: {}", std::strerror(failed))};
    return child;
}

/// Reads to the end; returns nothing if the text exceeds the limit.
std::optional<std::string> read_all(int from) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::read(from, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > max_output) return std::nullopt;
    }
}

int exit_status_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// Runs git and returns its output. Its standard error is not shown: the error names the command.
Result<std::string> run_git(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error{Code::no_git, "cannot run git: no file descriptor is left"};
    Fd reading{ends[0]};
    Fd writing{ends[1]};
    const auto child = start(words, writing.get());
    writing.close();
    if (!child) return child.error();
    const auto text = read_all(reading.get());
    reading.close();
    const int status = exit_status_of(*child);
    std::string asked;
    for (const std::string& word : words)
        asked += (asked.empty() ? "" : " ") + word;
    if (!text) return Error{Code::git_failed, fmt::format("'{}' printed more than 256 MiB", asked)};
    if (status != 0) return Error{Code::git_failed, fmt::format("'{}' failed with exit code {}", asked, status)};
    return *text;
}

/// Takes the text up to the next NUL.
std::optional<std::string_view> take_field(std::string_view& rest) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view field = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return field;
}

/// The letter at the end of `:100644 100644 3b18e51 9daeafb M`.
std::optional<FileChange> change_of(std::string_view summary) {
    const std::size_t blank = summary.rfind(' ');
    if (!summary.starts_with(':') || blank == std::string_view::npos || blank + 1 == summary.size())
        return std::nullopt;
    switch (summary[blank + 1]) {
        case 'A':
            return FileChange::added;
        case 'D':
            return FileChange::deleted;
        case 'M':
        case 'T':
        case 'U':
            return FileChange::modified;
        default:
            return std::nullopt;
    }
}

/// Keeps the files that are also in `others`.
void keep_common(std::vector<TouchedFile>& files, const std::vector<TouchedFile>& others) {
    std::set<std::string> paths;
    for (const TouchedFile& file : others)
        paths.insert(file.path);
    std::erase_if(files, [&](const TouchedFile& file) { return !paths.contains(file.path); });
}

}  // namespace

const char* to_string(FileChange change) {
    if (change == FileChange::added) return "added";
    return change == FileChange::deleted ? "deleted" : "modified";
}

Result<std::vector<TouchedFile>> read_raw_diff(std::string_view output) {
    std::vector<TouchedFile> files;
    while (!output.empty()) {
        const auto summary = take_field(output);
        const auto path = summary ? take_field(output) : std::nullopt;
        const auto change = path ? change_of(*summary) : std::nullopt;
        if (!change || path->empty())
            return Error{Code::git_failed, "git printed a list of changes that holdfast cannot read"};
        files.push_back({std::string(*path), *change});
    }
    return files;
}

Result<GitRepository> GitRepository::open_for_hook() {
    GitRepository repository{""};
    const auto found = repository.ask_line({"rev-parse", "--git-dir"});
    if (!found && found.error().code == Code::no_git) return found.error();
    if (!found) return Error{Code::no_repository, "this directory is not in a git repository"};
    if (auto root = repository.ask_line({"rev-parse", "--show-toplevel"})) repository.root_ = std::move(*root);
    return repository;
}

Result<GitRepository> GitRepository::open(const std::string& directory) {
    GitRepository repository{directory};
    auto root = repository.ask_line({"rev-parse", "--show-toplevel"});
    if (!root && root.error().code == Code::no_git) return root.error();
    if (!root || root->empty())
        return Error{Code::no_repository,
                     fmt::format("{} is not in a git work tree", directory.empty() ? "this directory" : directory)};
    repository.root_ = std::move(*root);
    return repository;
}

Result<std::string> GitRepository::ask(std::vector<std::string> arguments) const {
    std::vector<std::string> words{"git"};
    if (!directory_.empty()) words.insert(words.end(), {"-C", directory_});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_git(std::move(words));
}

Result<std::string> GitRepository::ask_line(std::vector<std::string> arguments) const {
    auto text = ask(std::move(arguments));
    if (text && text->ends_with('\n')) text->pop_back();
    return text;
}

std::string GitRepository::setting(const std::string& name) const {
    const auto value = ask_line({"config", "--get", name});
    return value ? *value : "";
}

std::optional<bool> GitRepository::flag(const std::string& name) const {
    const auto value = ask_line({"config", "--type=bool", "--get", name});
    return value && (*value == "true" || *value == "false") ? std::optional(*value == "true") : std::nullopt;
}

Result<std::vector<TouchedFile>> GitRepository::compared_with(const std::string& tree) const {
    const auto output = ask({"diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-relative",
                             "--ignore-submodules=none", tree, "--"});
    if (!output) return output.error();
    return read_raw_diff(*output);
}

Result<std::string> GitRepository::empty_tree() const {
    return ask_line({"hash-object", "-t", "tree", "/dev/null"});
}

std::vector<std::string> GitRepository::merged_heads() const {
    std::vector<std::string> heads;
    if (const auto path = ask_line({"rev-parse", "--git-path", "MERGE_HEAD"})) {
        std::ifstream file{std::filesystem::path(directory_) / *path};
        for (std::string line; std::getline(file, line);)
            heads.push_back(line);
    }
    if (!heads.empty()) return heads;
    // Before a merge without conflicts is committed, git names the merged heads only by these variables.
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        if (text.starts_with(merged_variable))
            heads.emplace_back(text.substr(merged_variable.size(), text.find('=') - merged_variable.size()));
    }
    return heads;
}

Result<std::vector<TouchedFile>> GitRepository::staged() const {
    const bool first_commit = !ask({"rev-parse", "--verify", "--quiet", "HEAD"});
    auto tree = first_commit ? empty_tree() : Result<std::string>("HEAD");
    if (!tree) return tree.error();
    auto files = compared_with(*tree);
    for (const std::string& head : merged_heads()) {
        if (!files) return files;
        const auto theirs = compared_with(head);
        if (!theirs) return theirs.error();
        keep_common(*files, *theirs);
    }
    return files;
}

Result<std::vector<GitRepository::Commit>> GitRepository::commits(const std::vector<std::string>& tips,
                                                                  const std::vector<std::string>& without) const {
    std::vector<std::string> words{"rev-list", "--parents"};
    words.insert(words.end(), tips.begin(), tips.end());
    words.emplace_back("--not");
    words.insert(words.end(), without.begin(), without.end());
    words.emplace_back("--");
    const auto output = ask(std::move(words));
    if (!output) return output.error();
    std::vector<Commit> commits;
    std::istringstream lines{*output};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream ids{line};
        Commit commit;
        ids >> commit.id;
        for (std::string parent; ids >> parent;)
            commit.parents.push_back(parent);
        commits.push_back(std::move(commit));
    }
    return commits;
}

Result<std::vector<TouchedFile>> GitRepository::changed_between(const std::string& from, const std::string& to) const {
    const auto output = ask({"diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-relative",
                             "--ignore-submodules=none", from, to, "--"});
    if (!output) return output.error();
    return read_raw_diff(*output);
}

Result<std::vector<TouchedFile>> GitRepository::changed_by(const Commit& commit) const {
    if (commit.parents.empty()) {
        const auto nothing = empty_tree();
        if (!nothing) return nothing.error();
        return changed_between(*nothing, commit.id);
    }
    auto files = changed_between(commit.parents[0], commit.id);
    for (std::size_t i = 1; files && i < commit.parents.size(); ++i) {
        const auto others = changed_between(commit.parents[i], commit.id);
        if (!others) return others.error();
        keep_common(*files, *others);
    }
    return files;
}

std::string GitRepository::commit_at(const std::string& name) const {
    const auto id = ask_line({"rev-parse", "--verify", "--quiet", name + "^{commit}"});
    return id ? *id : "";
}

std::string GitRepository::common_directory() const {
    const auto path = ask_line({"rev-parse", "--git-common-dir"});
    if (!path || path->empty()) return "";
    return std::filesystem::absolute(std::filesystem::path(directory_) / *path).lexically_normal().string();
}

Result<std::string> GitRepository::hook_path(const std::string& hook) const {
    const auto path = ask_line({"rev-parse", "--git-path", "hooks/" + hook});
    if (!path) return path.error();
    return std::filesystem::absolute(std::filesystem::path(directory_) / *path).lexically_normal().string();
}

WorkTreeIdentity work_tree_identity(const WorkTreeIdentity& given, const GitRepository* repository) {
    WorkTreeIdentity identity = given;
    if (identity.holder.empty() && repository != nullptr) identity.holder = repository->setting("holdfast.holder");
    if (identity.holder.empty()) identity.holder = default_holder();
    if (identity.name_space.empty() && repository != nullptr)
        identity.name_space = repository->setting("holdfast.namespace");
    if (identity.name_space.empty()) identity.name_space = "default";
    return identity;
}

}  // namespace holdfast::cli::guard
