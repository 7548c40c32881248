#pragma once

#include <string>

#include "cli/guard/git_repository.h"

namespace holdfast {

/// Who works in a work tree, and in which namespace its files are named. The agent that claims a file (`mcp`) and the
/// hook that checks its commit (`guard`) are different processes and must come to the same answer.
struct WorkTreeIdentity {
    std::string holder;
    std::string name_space;  ///< never empty
};

/// What was said (an option or its variable), else `holdfast.holder` and `holdfast.namespace` of git config, else the
/// default of every command. The repository may be null.
WorkTreeIdentity work_tree_identity(const WorkTreeIdentity& said, const GitRepository* repository);

}  // namespace holdfast
