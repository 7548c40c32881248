#include "cli/guard/work_tree_identity.h"

#include "cli/default_holder.h"

namespace holdfast {

WorkTreeIdentity work_tree_identity(const WorkTreeIdentity& said, const GitRepository* repository) {
    WorkTreeIdentity identity = said;
    if (identity.holder.empty() && repository != nullptr) identity.holder = repository->setting("holdfast.holder");
    if (identity.holder.empty()) identity.holder = default_holder();
    if (identity.name_space.empty() && repository != nullptr)
        identity.name_space = repository->setting("holdfast.namespace");
    if (identity.name_space.empty()) identity.name_space = "default";
    return identity;
}

}  // namespace holdfast
