#include <boost/json/value.hpp>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/git_repository.h"
#include "cli/guard_hook.h"
#include "cli/guard_rules.h"
#include "cli/work_tree_identity.h"
#include "cli/work_tree_names.h"

namespace holdfast {
namespace {

namespace json = boost::json;

/// A refusal that fills the terminal helps nobody; --json has all of them.
constexpr std::size_t shown_max = 20;

std::vector<SeenLease> seen_leases(const json::value& body, const std::string& name_space) {
    std::vector<SeenLease> leases;
    for (const json::value& lease : array_of(body, "leases")) {
        const auto predicate = core::parse_predicate(text_of(lease, "predicate"));
        if (!predicate || text_of(lease, "namespace") != name_space) continue;
        leases.push_back({text_of(lease, "id"), text_of(lease, "resource"), *predicate, text_of(lease, "holder"),
                          text_of(lease, "reason"),
                          std::chrono::milliseconds{number_of(field_of(lease, "timeline"), "expires_in_ms")}});
    }
    return leases;
}

std::string describe(const SeenLease& lease) {
    std::string text = lease.holder + " holds " + lease.resource + " (" + std::string(to_string(lease.predicate)) +
                       ") for another " + format_duration(lease.expires_in) + " unless renewed";
    return lease.reason.empty() ? text : text + ": " + lease.reason;
}

std::string describe(const Finding& finding, const std::string& committer) {
    std::string text = std::string(shown_path(finding.resource)) + " (" + to_string(finding.change) + "): ";
    if (finding.others.empty()) return text + committer + " holds no lease that allows it";
    std::string separator;
    for (const SeenLease& lease : finding.others) {
        text += separator + describe(lease);
        separator = "; ";
    }
    return text;
}

json::value to_json(const SeenLease& lease) {
    return {{"id", lease.id},         {"resource", lease.resource}, {"predicate", to_string(lease.predicate)},
            {"holder", lease.holder}, {"reason", lease.reason},     {"expires_in_ms", lease.expires_in.count()}};
}

json::value to_json(const Finding& finding) {
    json::array others;
    for (const SeenLease& lease : finding.others)
        others.push_back(to_json(lease));
    return {{"resource", finding.resource},
            {"change", to_string(finding.change)},
            {"why", finding.others.empty() ? "not_held" : "held_by_other"},
            {"conflicts", std::move(others)}};
}

/// One `holdfast guard check`.
class Check {
 public:
    Check(const Arguments& arguments, const Screen& screen, const GitRepository& repository)
        : arguments_(arguments),
          screen_(screen),
          repository_(repository),
          identity_(work_tree_identity({arguments.guard.holder, arguments.guard.name_space}, &repository)) {}

    int run() const {
        const auto files = repository_.staged();
        if (!files) return show_failure(files.error());
        if (files->empty()) return allow(0);
        Api api{arguments_.common};
        const auto answer = api.get_all(
            "/v1/leases?prefix=FILE%3A%2F&limit=1000&namespace=" + percent_encode(identity_.name_space), "leases");
        if (!answer) return no_answer(answer.error(), files->size());
        if (!answer->ok()) return fail(screen_, *answer);
        const GuardRules rules{identity_.holder, seen_leases(answer->body, identity_.name_space)};
        const auto findings = rules.check(*files);
        return findings.empty() ? allow(files->size()) : refuse(findings, files->size());
    }

 private:
    int show_failure(const Error& error) const {
        fail(screen_, error);
        return exit_failed;
    }

    int allow(std::size_t files) const {
        if (screen_.json()) screen_.show(summary(true, files, {}));
        return exit_ok;
    }

    int no_answer(const Error& error, std::size_t files) const {
        const bool offline_is_fine =
            arguments_.guard.allow_offline || repository_.flag("holdfast.allowOffline").value_or(false);
        if (error.code != "unreachable" || !offline_is_fine) {
            const int exit_code = fail(screen_, error);
            if (error.code == "unreachable")
                screen_.note("to commit without a server, say 'git config holdfast.allowOffline true'");
            return exit_code;
        }
        screen_.note("committing unchecked: " + error.message);
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
        screen_.complain("this commit is refused:");
        std::string missing;
        for (std::size_t i = 0; i < findings.size() && i < shown_max; ++i) {
            screen_.complain("  " + describe(findings[i], identity_.holder));
            if (findings[i].others.empty()) missing += " " + shell_word(findings[i].resource);
        }
        if (findings.size() > shown_max)
            screen_.complain("  and " + std::to_string(findings.size() - shown_max) + " more");
        if (missing.empty()) return;
        const std::string where =
            identity_.name_space == "default" ? "" : " --namespace " + shell_word(identity_.name_space);
        screen_.note("to claim what nobody holds: holdfast acquire --holder " + shell_word(identity_.holder) + where +
                     missing);
    }

    json::value summary(bool allowed, std::size_t files, const std::vector<Finding>& findings) const {
        json::array list;
        for (const Finding& finding : findings)
            list.push_back(to_json(finding));
        return {{"allowed", allowed},
                {"holder", identity_.holder},
                {"namespace", identity_.name_space},
                {"files", files},
                {"findings", std::move(list)}};
    }

    const Arguments& arguments_;
    const Screen& screen_;
    const GitRepository& repository_;
    const WorkTreeIdentity identity_;
};

/// Prints what was done to the hook, or why it was not.
int show(const Screen& screen, const Result<std::string>& done) {
    if (!done) {
        fail(screen, done.error());
        return exit_failed;
    }
    if (screen.json())
        screen.show(json::value{{"done", *done}});
    else
        screen.line(printable(*done));
    return exit_ok;
}

template <class Act>
int with_hook(const Arguments& arguments, Act act) {
    const Screen screen{arguments.common};
    const auto repository = GitRepository::open();
    if (!repository) return show(screen, repository.error());
    const auto path = repository->hook_path("pre-commit");
    if (!path) return show(screen, path.error());
    return show(screen, act(GuardHook{*path}));
}

}  // namespace

int guard_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const auto repository = GitRepository::open();
    if (!repository) return show(screen, repository.error());
    return Check{arguments, screen, *repository}.run();
}

int guard_install_command(const Arguments& arguments) {
    std::error_code unknown;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
    return with_hook(arguments, [&](const GuardHook& hook) {
        return hook.install(unknown ? "holdfast" : program, arguments.guard.force);
    });
}

int guard_uninstall_command(const Arguments& arguments) {
    return with_hook(arguments, [](const GuardHook& hook) { return hook.uninstall(); });
}

}  // namespace holdfast
