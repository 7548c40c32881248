#pragma once

#include <string>

#include "cli/app.h"

namespace holdfast {

/// Completion scripts for all commands and options. In bash and fish the command after `--` is completed too.
std::string bash_completion(const CommandShape& root);
std::string zsh_completion(const CommandShape& root);
std::string fish_completion(const CommandShape& root);

}  // namespace holdfast
