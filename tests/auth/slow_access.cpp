#include "auth/slow_access.h"

#include <algorithm>

namespace holdfast::auth {
namespace {

bool begins(const std::string& text, const std::string& with) {
    return text.compare(0, with.size(), with) == 0;
}

/// `*` alone has a meaning.
bool matches(const std::string& pattern, const std::string& text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*')
        for (std::size_t i = 0; i <= text.size(); ++i)
            if (matches(pattern.substr(1), text.substr(i))) return true;
    return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

struct Name {
    std::string name_space, own;
};

Name split(const std::string& resource) {
    if (resource[0] != '@') return {"default", resource};
    const std::size_t slash = resource.find('/');
    return {resource.substr(1, slash - 1), resource.substr(slash + 1)};
}

/// The parts of a path; the first of one that begins at the root is `/`.
std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> parts;
    if (!path.empty() && path[0] == '/') parts.push_back("/");
    std::string part;
    for (const char c : path + '/') {
        if (c != '/') {
            part += c;
        } else {
            if (!part.empty() && part != ".") parts.push_back(part);
            part.clear();
        }
    }
    return parts;
}

bool covers_one(const std::string& prefix, const std::string& name) {
    if (!begins(prefix, "FILE:") || prefix == "FILE:") return begins(name, prefix);
    if (!begins(name, "FILE:")) return false;
    std::vector<std::string> wanted = parts_of(prefix.substr(5));
    if (!wanted.empty() && wanted.back() == "**") wanted.pop_back();
    const std::vector<std::string> found = parts_of(name.substr(5));
    return found.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), found.begin());
}

bool covers(const std::string& prefix, const std::string& name) {
    const bool is_tree = begins(name, "FILE:") && name.size() > 7 && name.substr(name.size() - 3) == "/**";
    if (!is_tree) return covers_one(prefix, name);
    const std::string root = name.substr(0, name.size() - 2);
    const auto below = {"a", "b", "ab", "a/b", "a/b/c", "unheard-of", "unheard-of/unheard-of"};
    return std::all_of(below.begin(), below.end(), [&](const char* path) { return covers_one(prefix, root + path); });
}

bool takes_holder(Verb verb) {
    return verb == Verb::hold || verb == Verb::drone;
}

std::string namespace_of(const Grant& grant) {
    return grant.name_space.empty() ? "default" : grant.name_space;
}

}  // namespace

bool SlowAccess::is_own(const Grant& grant, const std::string& holder) const {
    if (holder.empty()) return false;
    if (grant.holders.empty()) return holder == principal_ || begins(holder, principal_ + "/");
    return std::any_of(grant.holders.begin(), grant.holders.end(),
                       [&](const std::string& pattern) { return matches(pattern, holder); });
}

bool SlowAccess::allows(Verb verb, const std::string& resource, const std::string& holder) const {
    const Name name = split(resource);
    for (const Grant& grant : grants_) {
        const bool covered = grant.verbs.has(verb) && matches(namespace_of(grant), name.name_space) &&
                             covers(grant.prefix, name.own) && (!takes_holder(verb) || is_own(grant, holder));
        if (covered) return true;
    }
    return false;
}

bool SlowAccess::allows_namespace(Verb verb, const std::string& name_space) const {
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
        return grant.verbs.has(verb) && matches(namespace_of(grant), name_space) && grant.prefix.empty();
    });
}

bool SlowAccess::allows_everywhere(Verb verb) const {
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
        return grant.verbs.has(verb) && grant.name_space == "*" && grant.prefix.empty();
    });
}

bool SlowAccess::allows_anywhere(Verb verb) const {
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) { return grant.verbs.has(verb); });
}

bool SlowAccess::may_act_as(Verb verb, const std::string& holder) const {
    return std::any_of(grants_.begin(), grants_.end(),
                       [&](const Grant& grant) { return grant.verbs.has(verb) && is_own(grant, holder); });
}

}  // namespace holdfast::auth
