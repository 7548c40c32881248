#include "auth/grant.h"

#include <algorithm>
#include <fmt/format.h>

#include "auth/limits.h"
#include "base/code.h"
#include "base/glob.h"
#include "base/text.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/policy.h"

namespace holdfast::auth {
namespace {

constexpr std::string_view everything = "*";
constexpr std::string_view file_type = "FILE:";
constexpr std::string_view tree_ending = "/**";
constexpr Verbs about_keys{Verb::connect, Verb::drone};
constexpr Verbs about_services{Verb::advertise, Verb::reach};

Error invalid_grant(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

// ---- patterns ----

bool matches_namespace(std::string_view pattern, std::string_view name) {
    if (!pattern.ends_with('*')) return pattern == name;
    pattern.remove_suffix(1);
    return has_prefix(name, pattern);
}

/// The prefix is a path if it goes on after `FILE:`.
bool is_path(std::string_view prefix) {
    return prefix.size() > file_type.size() && has_prefix(prefix, file_type);
}

/// The path is the root's or lies below it. The root of the file system, `/`, has the paths that begin with it.
bool is_at_or_below(std::string_view path, std::string_view root) {
    if (root == "/") return path.empty() || path.front() == '/';
    return has_prefix(path, root) && (path.size() == root.size() || path[root.size()] == '/');
}

// ---- checks ----

Result<std::string> checked_namespace(std::string name) {
    if (name.empty()) return std::string(lease::default_namespace);
    if (name == everything) return name;
    const std::string_view text = name;
    const bool is_pattern = text.ends_with('*');
    if (auto checked = lease::check_namespace(is_pattern ? text.substr(0, text.size() - 1) : text); !checked)
        return invalid_grant(checked.error().message + ", or end in '*' for all that begin so");
    if (text.starts_with('~') && !matches_namespace(text, lease::services_namespace))
        return invalid_grant(
            "of the reserved namespaces only ~services can be granted; a key is in the namespace it was given, under a "
            "name that begins with KEY:");
    return name;
}

Result<std::string> checked_path(std::string_view prefix) {
    auto path = lease::normalised(prefix);
    if (!path) return path.error();
    if (path->ends_with(tree_ending)) path->resize(path->size() - tree_ending.size());
    if (*path == file_type) *path += '/';  // it was the tree below the root
    return path;
}

Result<std::string> checked_prefix(const std::string& prefix) {
    if (auto checked = check_text({"prefix", prefix}, limits::prefix_bytes); !checked) return checked.error();
    if (prefix.starts_with('@')) return invalid_grant("prefix must not start with '@'; give the namespace by itself");
    if (prefix.starts_with(' ') || prefix.ends_with(' '))
        return invalid_grant("prefix must not start or end with a blank; no name does");
    if (is_path(prefix)) return checked_path(prefix);
    if (prefix.ends_with('*')) return invalid_grant("prefix is no pattern: 'job:' covers all that begins with it");
    std::string single_slashes;
    for (const char c : prefix)
        if (c != '/' || single_slashes.empty() || single_slashes.back() != '/') single_slashes += c;
    return single_slashes;
}

Result<void> check_holders(const std::vector<std::string>& holders) {
    if (holders.size() > limits::holders_per_grant)
        return invalid_grant(fmt::format("a grant may have at most {} patterns of holders", limits::holders_per_grant));
    for (const std::string& holder : holders) {
        if (holder.empty()) return invalid_grant("a pattern of holders is empty; '*' is every holder");
        if (auto checked = check_text({"holder", holder}, limits::holder_pattern_bytes); !checked) return checked;
    }
    return {};
}

/// Names of keys begin with `KEY:`, so some must begin with the prefix.
bool may_cover_keys(std::string_view prefix) {
    return has_prefix(prefix, lease::detail::key_prefix) || has_prefix(lease::detail::key_prefix, prefix);
}

/// Each verb can have an effect within the namespace and the prefix.
Result<void> check_effects(const Grant& grant) {
    const bool only_reserved = grant.name_space.starts_with('~');
    if (grant.verbs.has_any(server_wide) && !covers_everywhere(grant))
        return invalid_grant(
            fmt::format("{} are about the whole server: grant them on all namespaces (*), without a prefix",
                        to_string(server_wide)));
    if (grant.verbs.has(Verb::admin_policy) && !grant.prefix.empty())
        return invalid_grant("admin.policy is about whole namespaces: grant it without a prefix");
    if (grant.verbs.has_any(about_services) && !covers_namespace(grant, lease::services_namespace))
        return invalid_grant("advertise and reach are about services: grant them on the namespace ~services");
    if (grant.verbs.has_any(about_keys) && (only_reserved || !may_cover_keys(grant.prefix)))
        return invalid_grant(
            "connect and drone are about keys, whose names begin with KEY: in their namespaces: grant them with a "
            "prefix such as KEY:room-, or without one");
    if (grant.verbs.has(Verb::hold) && only_reserved)
        return invalid_grant("nobody holds what is in ~services but its publisher: grant advertise");
    return {};
}

}  // namespace

Result<Grant> checked_grant(Grant grant) {
    if (grant.verbs.empty()) return invalid_grant("a grant must name at least one verb");
    auto name_space = checked_namespace(std::move(grant.name_space));
    if (!name_space) return name_space.error();
    auto prefix = checked_prefix(grant.prefix);
    if (!prefix) return prefix.error();
    grant.name_space = std::move(*name_space);
    grant.prefix = std::move(*prefix);
    if (auto checked = check_holders(grant.holders); !checked) return checked.error();
    if (auto checked = check_effects(grant); !checked) return checked.error();
    return grant;
}

bool covers_namespace(const Grant& grant, std::string_view name_space) {
    return matches_namespace(grant.name_space, name_space);
}

bool covers_resource(const Grant& grant, const lease::SplitName& name) {
    if (!covers_namespace(grant, name.name_space)) return false;
    // A prefix that is no path and covers one file covers all of them: it ends within `FILE:`.
    if (!is_path(grant.prefix)) return has_prefix(name.resource, grant.prefix);
    if (!has_prefix(name.resource, file_type)) return false;
    const auto file = lease::file_path(name.resource);
    return is_at_or_below(file->path, std::string_view(grant.prefix).substr(file_type.size()));
}

bool covers_holder(const Grant& grant, std::string_view principal, std::string_view holder) {
    if (holder.empty()) return false;
    if (!grant.holders.empty())
        return std::any_of(grant.holders.begin(), grant.holders.end(),
                           [&](const std::string& pattern) { return glob_matches(pattern, holder); });
    return has_prefix(holder, principal) && (holder.size() == principal.size() || holder[principal.size()] == '/');
}

bool covers_all_of(const Grant& grant, std::string_view name_space) {
    return grant.prefix.empty() && covers_namespace(grant, name_space);
}

bool covers_everywhere(const Grant& grant) {
    return grant.prefix.empty() && grant.name_space == everything;
}

bool covers_any_holder(const Grant& grant) {
    return std::find(grant.holders.begin(), grant.holders.end(), everything) != grant.holders.end();
}

std::string to_string(const Grant& grant) {
    std::string text = fmt::format("{} on {}", to_string(grant.verbs), grant.name_space);
    if (!grant.prefix.empty()) text += fmt::format(", prefix {}", grant.prefix);
    if (!grant.holders.empty()) text += fmt::format(", as {}", fmt::join(grant.holders, " "));
    return text;
}

}  // namespace holdfast::auth
