#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/grant.h"
#include "base/result.h"

namespace holdfast::auth {

/// A named set of grants.
struct Role {
    std::string name;
    std::vector<Grant> grants;

    bool operator==(const Role&) const = default;
};

/// The roles that every server has and nobody can change, by name:
///
/// `admin` may do everything, as any holder. `operator`: the same without `admin.auth`. `reader` may read everything.
/// `holder` may hold and read everything, as itself (A4). `drone` may run the backends of all keys, as itself.
/// `publisher` may advertise all services. `metrics` may read the metrics.
std::span<const Role> built_in_roles();
/// Null if there is none of this name.
const Role* built_in_role(std::string_view name);

/// The role with its grants checked, each of them once. Error `invalid_argument`: the name, a grant or their number.
/// Error `role_fixed`: the name is that of a built-in role.
Result<Role> checked_role(Role role);

/// Checks the name of a role or a principal: up to 64 letters, digits and `.`, `_`, `-`, `@`, beginning with a letter
/// or a digit. No `/`, so that no principal's name is a holder that another principal may act as by default (A4).
/// `kind` is for the text of the error, `invalid_argument`.
Result<void> check_plain_name(std::string_view kind, std::string_view name);

}  // namespace holdfast::auth
