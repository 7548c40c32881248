#include "cli/guard/guard_hook.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>

namespace holdfast::cli::guard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "# Installed by 'holdfast guard install'";
constexpr std::string_view aside_ending = ".before-holdfast";

/// The hook saves git's input, since both programs read it. Of a transaction only the state that can be refused
/// matters, and only if it contains a branch: a fetch of a thousand refs must not start a thousand programs.
std::string script(const std::string& name, const std::string& program, bool chain) {
    const bool transaction = name == "reference-transaction";
    const bool reads = transaction || name == "pre-push";
    const std::string feed = reads ? "printf %s \"$input\" | " : "";
    std::string text = fmt::format("#!/bin/sh\n{}; remove it with 'holdfast guard uninstall'.\n", mark);
    if (reads) text += "input=$(cat; echo .)\ninput=${input%.}\n";
    if (chain)
        text += fmt::format(
            "before=\"$0{}\"\n"
            "if [ -x \"$before\" ]; then {}\"$before\" \"$@\" || exit $?; fi\n",
            aside_ending, feed);
    if (transaction)
        text +=
            "[ \"$1\" = prepared ] || exit 0\n"
            "case $input in *' refs/heads/'*) ;; *) exit 0 ;; esac\n";
    return text + fmt::format(
                      "holdfast={}\n[ -x \"$holdfast\" ] || holdfast=holdfast\n{}\"$holdfast\" guard check --hook {}\n",
                      shell_word(program), feed, name);
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

bool is_ours(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::string text(4096, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text.find(mark) != std::string::npos;
}

Error failed(const std::string& what, const std::error_code& why) {
    return {Code::storage_failed, fmt::format("cannot {}: {}", what, why.message())};
}

/// Writes atomically: git must never run half a hook.
Result<void> write_hook(const std::string& path, const std::string& text) {
    const std::string fresh = path + ".new";
    std::error_code why;
    fs::create_directories(fs::path(path).parent_path(), why);
    if (why) return failed("create the directory of " + path, why);
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text;
    file.close();
    if (!file) return Error{Code::storage_failed, "cannot write " + fresh};
    fs::permissions(fresh, fs::perms(0755), why);
    if (!why) fs::rename(fresh, path, why);
    if (why) return failed("write " + path, why);
    return {};
}

}  // namespace

std::string shell_word(std::string_view text) {
    static constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

Result<std::string> GuardHook::install(const std::string& program, bool replace) const {
    const bool another = exists(path_) && !is_ours(path_);
    std::error_code why;
    if (another && exists(aside()))
        return Error{Code::hook_exists, fmt::format("both {} and {} exist; remove one of them first", path_, aside())};
    if (another) fs::rename(path_, aside(), why);
    if (why) return failed("rename " + path_, why);
    if (const auto written = write_hook(path_, script(name_, program, !replace)); !written) return written.error();
    const std::string done = "installed " + path_;
    if (!exists(aside())) return done;
    return fmt::format("{}; the hook that was there is now {} and {}", done, aside(),
                       replace ? "does not run" : "runs first");
}

Result<std::string> GuardHook::uninstall() const {
    if (!exists(path_)) return "there was no hook at " + path_;
    if (!is_ours(path_)) return path_ + " was not installed by holdfast, and stays";
    std::error_code why;
    const bool back = exists(aside());
    if (back)
        fs::rename(aside(), path_, why);
    else
        fs::remove(path_, why);
    if (why) return failed("remove " + path_, why);
    return back ? "restored the earlier hook at " + path_ : "removed " + path_;
}

}  // namespace holdfast::cli::guard
