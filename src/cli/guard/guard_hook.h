#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::cli::guard {

/// The hooks that the guard needs. `reference-transaction` cannot be bypassed: git runs it before a branch moves,
/// whatever command moves it. The others refuse earlier, or refuse commits that were made without a hook.
inline constexpr std::array guard_hooks{"pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"};

/// A file that git runs. Another program's hook is never lost: it is moved aside and keeps running, before ours.
class GuardHook {
 public:
    struct Place {
        std::string name;  ///< one of guard_hooks
        std::string path;  ///< where git looks for it
    };
    explicit GuardHook(Place place) : name_(std::move(place.name)), path_(std::move(place.path)) {}

    /// Writes a hook that calls the program. With `replace` an existing hook no longer runs. Returns a description of
    /// what was done. The error is `hook_exists` or `storage_failed`.
    Result<std::string> install(const std::string& program, bool replace) const;

    /// Removes the hook and restores the one that was moved aside. The error is `storage_failed`.
    Result<std::string> uninstall() const;

 private:
    std::string aside() const { return path_ + ".before-holdfast"; }

    std::string name_;
    std::string path_;
};

/// A word for a shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

}  // namespace holdfast::cli::guard
