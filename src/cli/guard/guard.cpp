#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/guard/git_repository.h"
#include "cli/guard/guard_commits.h"
#include "cli/guard/guard_hook.h"
#include "cli/guard/guard_rules.h"
#include "cli/guard/work_tree_names.h"

namespace holdfast::cli::guard {
namespace {

/// The limit on findings shown, so that a refusal fits a terminal; --json has all of them.
constexpr std::size_t max_shown = 20;
/// Enough for a push of a hundred thousand refs.
constexpr std::size_t max_input = 32U << 20;

std::vector<SeenLease> seen_leases(const JsonValue& body, const std::string& name_space) {
    std::vector<SeenLease> leases;
    for (const JsonValue& lease : body["leases"].items) {
        const auto predicate = lease::parse_predicate(lease["predicate"].text);
        if (!predicate || lease["namespace"].text != name_space) continue;
        leases.push_back({lease["id"].text, lease["resource"].text, *predicate, lease["holder"].text,
                          lease["reason"].text, ms_of(lease["timeline"]["expires_in_ms"]), lease["session"].text});
    }
    return leases;
}

std::string describe(const SeenLease& lease) {
    return fmt::format("{} holds {} ({}) for another {} unless renewed{}", lease.holder, lease.resource,
                       to_string(lease.predicate), format_duration(lease.expires_in),
                       lease.reason.empty() ? "" : ": " + lease.reason);
}

std::string describe(const Finding& finding, const std::string& committer) {
    std::string text = fmt::format("{} ({}): ", shown_path(finding.resource), to_string(finding.change));
    if (finding.others.empty()) return fmt::format("{}{} holds no lease that allows it", text, committer);
    std::string separator;
    for (const SeenLease& lease : finding.others) {
        text += separator + describe(lease);
        separator = "; ";
    }
    return text;
}

JsonValue to_json(const SeenLease& lease) {
    return JsonValue::object({{"id", lease.id},
                              {"resource", lease.resource},
                              {"predicate", to_string(lease.predicate)},
                              {"holder", lease.holder},
                              {"reason", lease.reason},
                              {"expires_in_ms", lease.expires_in.count()}});
}

JsonValue to_json(const Finding& finding) {
    JsonValue::List others;
    for (const SeenLease& lease : finding.others)
        others.push_back(to_json(lease));
    return JsonValue::object({{"resource", finding.resource},
                              {"change", to_string(finding.change)},
                              {"why", finding.others.empty() ? "not_held" : "held_by_other"},
                              {"conflicts", std::move(others)}});
}

/// What is refused, and the state in which git leaves the repository.
struct RefusalText {
    std::string what;
    std::string afterwards;
};

RefusalText words_for(const std::string& hook) {
    if (hook == "pre-push") return {"this push is refused:", ""};
    if (hook != "reference-transaction") return {"this commit is refused:", ""};
    return {
        "this change of a branch is refused:",
        "git may already have changed files. Claim them and continue with '--continue', or repeat the git command; or "
        "undo the change with '--abort' or 'git reset --merge'"};
}

/// Reads git's input to a hook; returns nothing if it exceeds the limit.
std::optional<std::string> read_input() {
    std::string text;
    std::array<char, 65536> buffer{};
    while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(std::cin.gcount()));
        if (text.size() > max_input) return std::nullopt;
    }
    return text;
}

CheckedCommits checked_commits(const GitRepository& repository) {
    return CheckedCommits{repository.common_directory() + "/holdfast-checked"};
}

/// One `holdfast guard check`.
class Check {
 public:
    Check(const Arguments& arguments, const Screen& screen, const GitRepository& repository)
        : arguments_(arguments),
          screen_(screen),
          repository_(repository),
          identity_(work_tree_identity({arguments.guard.holder, arguments.guard.name_space}, &repository)),
          words_(words_for(arguments.guard.hook)) {}

    int run() {
        const std::string& hook = arguments_.guard.hook;
        if (hook == "pre-push" || hook == "reference-transaction") return check_commits(hook == "pre-push");
        const auto files = repository_.staged();
        return files ? check(*files) : show_failure(files.error());
    }

 private:
    /// Each commit is checked once: when it first enters a branch, or else when it is pushed.
    int check_commits(bool pushed) {
        const auto input = read_input();
        if (!input) return show_failure({Code::git_failed, "git passed more than 32 MiB of refs to the hook"});
        CheckedCommits checked = checked_commits(repository_);
        const auto found = pushed ? new_in_push(repository_, checked, read_pushed(*input))
                                  : new_in_branches(repository_, checked, read_transaction(*input));
        if (!found) return show_failure(found.error());
        const int exit_code = check(found->files);
        if (exit_code == exit_ok && !unchecked_) checked.add(found->commits);
        return exit_code;
    }

    int check(const std::vector<TouchedFile>& files) {
        if (files.empty()) return allow(0);
        Api api{arguments_.common};
        const auto answer = api.get_all(
            with_query("/v1/leases", {{"prefix", "FILE:/"}, {"limit", "1000"}, {"namespace", identity_.name_space}}),
            "leases");
        if (!answer) return no_answer(answer.error(), files.size());
        if (!answer->ok()) return fail(screen_, *answer);
        const GuardRules rules{identity_.holder, seen_leases(answer->body, identity_.name_space)};
        const auto findings = rules.check(files);
        return findings.empty() ? allow(files.size()) : refuse(findings, files.size());
    }

    int show_failure(const Error& error) const { return fail(screen_, error, exit_failed); }

    int allow(std::size_t files) const {
        if (screen_.json()) screen_.show(summary(true, files, {}));
        return exit_ok;
    }

    int no_answer(const Error& error, std::size_t files) {
        const bool offline_is_fine =
            arguments_.guard.allow_offline || repository_.flag("holdfast.allowOffline").value_or(false);
        if (error.code != Code::unreachable || !offline_is_fine) {
            const int exit_code = fail(screen_, error);
            if (error.code == Code::unreachable)
                screen_.note("to commit without a server, run 'git config holdfast.allowOffline true'");
            return exit_code;
        }
        screen_.note("committing unchecked: " + error.message);
        unchecked_ = true;
        return allow(files);
    }

    int refuse(const std::vector<Finding>& findings, std::size_t files) const {
        bool in_the_way = false;
        for (const Finding& finding : findings)
            in_the_way = in_the_way || !finding.others.empty();
        if (screen_.json())
            screen_.show(summary(false, files, findings));
        else
            complain(findings);
        return in_the_way ? exit_busy : exit_lost;
    }

    void complain(const std::vector<Finding>& findings) const {
        screen_.complain(words_.what);
        std::string missing;
        for (std::size_t i = 0; i < findings.size() && i < max_shown; ++i) {
            screen_.complain("  " + describe(findings[i], identity_.holder));
            if (findings[i].others.empty()) missing += " " + shell_word(findings[i].resource);
        }
        if (findings.size() > max_shown) screen_.complain(fmt::format("  and {} more", findings.size() - max_shown));
        if (!words_.afterwards.empty()) screen_.note(words_.afterwards);
        if (missing.empty()) return;
        const std::vector<Finding> shown{
            findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(std::min(findings.size(), max_shown))};
        screen_.note("to claim the files that nobody holds: " + claim_command(claim_advice(shown), missing));
    }

    std::string claim_command(const ClaimAdvice& advice, const std::string& resources) const {
        const std::string who = " --holder " + shell_word(identity_.holder);
        std::string command;
        if (!advice.release.empty()) {
            command = "holdfast release" + who;
            for (const std::string& lease : advice.release)
                command += " " + shell_word(lease);
            command += " && ";
        }
        command += "holdfast acquire" + who;
        if (identity_.name_space != "default") command += " --namespace " + shell_word(identity_.name_space);
        if (!advice.session.empty()) command += " --session " + shell_word(advice.session);
        return command + resources;
    }

    JsonValue summary(bool allowed, std::size_t files, const std::vector<Finding>& findings) const {
        JsonValue::List list;
        for (const Finding& finding : findings)
            list.push_back(to_json(finding));
        return JsonValue::object({{"allowed", allowed},
                                  {"holder", identity_.holder},
                                  {"namespace", identity_.name_space},
                                  {"files", files},
                                  {"findings", std::move(list)}});
    }

    const Arguments& arguments_;
    const Screen& screen_;
    const GitRepository& repository_;
    const WorkTreeIdentity identity_;
    const RefusalText words_;
    bool unchecked_ = false;
};

/// Prints what was done to the hook, or the error.
int show(const Screen& screen, const Result<std::string>& done) {
    if (!done) return fail(screen, done.error(), exit_failed);
    if (screen.json())
        screen.show(JsonValue::object({{"done", *done}}));
    else
        for (std::size_t from = 0; from <= done->size();) {
            const std::size_t end = std::min(done->find('\n', from), done->size());
            screen.line(printable(done->substr(from, end - from)));
            from = end + 1;
        }
    return exit_ok;
}

/// Applies `act` to all hooks, then `record` to the record of checked commits, and prints the results as one text.
template <class Act, class Record>
int with_hooks(const Arguments& arguments, Act act, Record record) {
    const Screen screen{arguments.common};
    const auto repository = GitRepository::open();
    if (!repository) return show(screen, repository.error());
    std::string all;
    for (const char* const name : guard_hooks) {
        const auto path = repository->hook_path(name);
        if (!path) return show(screen, path.error());
        const auto done = act(GuardHook{{name, *path}});
        if (!done) return show(screen, done);
        all += (all.empty() ? "" : "\n") + *done;
    }
    record(*repository, checked_commits(*repository));
    return show(screen, all);
}

}  // namespace

int guard_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const bool of_refs = arguments.guard.hook == "reference-transaction";
    const auto repository = of_refs ? GitRepository::open_for_hook() : GitRepository::open();
    if (!repository) return show(screen, repository.error());
    return Check{arguments, screen, *repository}.run();
}

int guard_install_command(const Arguments& arguments) {
    std::error_code unknown;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
    return with_hooks(
        arguments,
        [&](const GuardHook& hook) { return hook.install(unknown ? "holdfast" : program, arguments.guard.force); },
        [&](const GitRepository& repository, CheckedCommits checked) {
            checked.begin_at(repository.commit_at("HEAD"));
            const std::string hooks = repository.setting("core.hooksPath");
            if (!hooks.empty() && !hooks.starts_with('/') && !hooks.starts_with('~'))
                Screen{arguments.common}.note(
                    "core.hooksPath is relative, so each work tree (git worktree) has its own hooks: install the guard "
                    "in "
                    "each work tree");
        });
}

int guard_uninstall_command(const Arguments& arguments) {
    return with_hooks(
        arguments, [](const GuardHook& hook) { return hook.uninstall(); },
        [](const GitRepository&, CheckedCommits checked) { checked.forget_base(); });
}

}  // namespace holdfast::cli::guard
