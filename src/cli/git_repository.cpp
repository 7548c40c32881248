#include "cli/git_repository.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/fd.h"

namespace holdfast {
namespace {

/// A commit of a million files has about this much to say.
constexpr std::size_t output_max = 256U << 20;

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
    if (failed != 0) return Error{"no_git", std::string("cannot run git: ") + std::strerror(failed)};
    return child;
}

/// Everything up to the end; nothing if it is too much.
std::optional<std::string> read_all(int from) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::read(from, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > output_max) return std::nullopt;
    }
}

int exit_status_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// What git prints. Its complaints are not shown: the error says what was asked.
Result<std::string> run_git(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error{"no_git", "no descriptor is left to run git"};
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
    if (!text) return Error{"git_failed", "'" + asked + "' printed too much"};
    if (status != 0) return Error{"git_failed", "'" + asked + "' failed with " + std::to_string(status)};
    return *text;
}

}  // namespace

Result<GitRepository> GitRepository::open(const std::string& directory) {
    GitRepository repository{directory};
    auto root = repository.ask_line({"rev-parse", "--show-toplevel"});
    if (!root && root.error().code == "no_git") return root.error();
    if (!root || root->empty())
        return Error{"no_repository", (directory.empty() ? "this directory" : directory) + " is in no git work tree"};
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

Result<std::vector<TouchedFile>> GitRepository::staged() const {
    const bool first_commit = !ask({"rev-parse", "--verify", "--quiet", "HEAD"});
    auto tree = first_commit ? ask_line({"hash-object", "-t", "tree", "/dev/null"}) : Result<std::string>("HEAD");
    if (!tree) return tree.error();
    auto files = compared_with(*tree);
    if (!files || !ask({"rev-parse", "--verify", "--quiet", "MERGE_HEAD"})) return files;
    const auto theirs = compared_with("MERGE_HEAD");
    if (!theirs) return theirs.error();
    std::set<std::string> unlike_theirs;
    for (const TouchedFile& file : *theirs)
        unlike_theirs.insert(file.path);
    std::erase_if(*files, [&](const TouchedFile& file) { return !unlike_theirs.contains(file.path); });
    return files;
}

Result<std::string> GitRepository::hook_path(const std::string& hook) const {
    const auto path = ask_line({"rev-parse", "--git-path", "hooks/" + hook});
    if (!path) return path.error();
    return std::filesystem::absolute(std::filesystem::path(directory_) / *path).lexically_normal().string();
}

}  // namespace holdfast
