#pragma once

#include <string>

#include "base/result.h"

namespace holdfast {

/// The file that git runs before a commit. Another program's hook is never lost: it is left alone, or put aside.
class GuardHook {
 public:
    /// `path` is where git looks for it.
    explicit GuardHook(std::string path) : path_(std::move(path)) {}

    /// Writes a hook that calls the program. Over another's hook only with `force`, which puts that one aside. Returns
    /// what was done, in words. The error is `hook_exists` or `storage_failed`.
    Result<std::string> install(const std::string& program, bool force) const;

    /// Takes the hook away and puts back what was aside. The error is `not_our_hook` or `storage_failed`.
    Result<std::string> uninstall() const;

 private:
    std::string aside() const { return path_ + ".before-holdfast"; }

    std::string path_;
};

/// A word for a shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

}  // namespace holdfast
