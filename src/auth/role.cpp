#include "auth/role.h"

#include <algorithm>
#include <fmt/format.h>

#include "auth/limits.h"
#include "base/code.h"

namespace holdfast::auth {
namespace {

Error invalid_role(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_plain(char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == '@';
}

}  // namespace

std::span<const Role> built_in_roles() {
    static const std::vector<Role> roles{
        {"admin", {{Verbs::all(), "*", "", {"*"}}}},
        {"drone", {{{Verb::drone}, "*"}}},
        {"holder", {{{Verb::hold, Verb::read}, "*"}}},
        {"metrics", {{{Verb::metrics}, "*"}}},
        {"operator", {{Verbs::all().without({Verb::admin_auth}), "*", "", {"*"}}}},
        {"publisher", {{{Verb::advertise}, "~services"}}},
        {"reader", {{{Verb::read}, "*"}}},
    };
    return roles;
}

const Role* built_in_role(std::string_view name) {
    for (const Role& role : built_in_roles())
        if (role.name == name) return &role;
    return nullptr;
}

Result<Role> checked_role(Role role) {
    if (auto checked = check_plain_name("role", role.name); !checked) return checked.error();
    if (built_in_role(role.name) != nullptr)
        return Error{
            Code::role_fixed,
            fmt::format("{} is a built-in role, which cannot be changed or removed; choose another name", role.name)};
    if (role.grants.size() > limits::grants_per_role)
        return invalid_role(fmt::format("a role may have at most {} grants", limits::grants_per_role));
    std::vector<Grant> distinct;
    for (Grant& grant : role.grants) {
        auto checked = checked_grant(std::move(grant));
        if (!checked) return checked.error();
        if (std::find(distinct.begin(), distinct.end(), *checked) == distinct.end())
            distinct.push_back(std::move(*checked));
    }
    role.grants = std::move(distinct);
    return role;
}

Result<void> check_plain_name(std::string_view kind, std::string_view name) {
    const bool plain = !name.empty() && name.size() <= limits::name_bytes && is_letter_or_digit(name.front()) &&
                       std::all_of(name.begin(), name.end(), is_plain);
    if (plain) return {};
    return invalid_role(
        fmt::format("the name of a {} has 1 to {} of the characters A-Z a-z 0-9 . _ - @, and begins with a letter or a "
                    "digit",
                    kind, limits::name_bytes));
}

}  // namespace holdfast::auth
