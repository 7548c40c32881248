#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

/// The hooks that the guard needs. `reference-transaction` is the one that nothing goes around: git asks it before a
/// branch moves, whatever command moves it. The others refuse earlier, or what was committed without a hook.
inline constexpr std::array guard_hooks{"pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"};

/// A file that git runs. Another program's hook is never lost: it is put aside and goes on running, before ours.
class GuardHook {
 public:
    struct Place {
        std::string name;  ///< one of guard_hooks
        std::string path;  ///< where git looks for it
    };
    explicit GuardHook(Place place) : name_(std::move(place.name)), path_(std::move(place.path)) {}

    /// Writes a hook that calls the program. With `replace` a hook that was there does not run any more. Returns what
    /// was done, in words. The error is `hook_exists` or `storage_failed`.
    Result<std::string> install(const std::string& program, bool replace) const;

    /// Takes the hook away and puts back what was aside. The error is `storage_failed`.
    Result<std::string> uninstall() const;

 private:
    std::string aside() const { return path_ + ".before-holdfast"; }

    std::string name_;
    std::string path_;
};

/// A word for a shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

}  // namespace holdfast
