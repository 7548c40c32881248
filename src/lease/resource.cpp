#include "lease/resource.h"

#include "base/code.h"

namespace holdfast::lease {
namespace {

constexpr std::string_view file_type = "FILE:";
constexpr std::string_view tree_ending = "/**";

Error invalid_path(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Removes and returns the first part of the path, with the slash after it.
std::string_view take_part(std::string_view& path) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    return part;
}

std::string single_slashes(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text)
        if (c != '/' || out.empty() || out.back() != '/') out += c;
    while (out.size() > 1 && out.back() == '/' && out[out.size() - 2] != ':')
        out.pop_back();
    return out;
}

Result<std::string> normalised_path(std::string_view path) {
    std::string out;
    if (path.starts_with('/')) out = "/";
    while (!path.empty()) {
        const std::string_view part = take_part(path);
        if (part.empty() || part == ".") continue;
        if (part == "..") return invalid_path("a FILE: path must not contain '..'; say where it leads");
        if (part == "**" && !path.empty()) return invalid_path("in a FILE: path '**' may only be the last part");
        if (!out.empty() && out.back() != '/') out += '/';
        out += part;
    }
    if (out == "**") return invalid_path("name the tree: FILE:/** or FILE:some/folder/**");
    return out;
}

/// True if `path` lies in the tree below `root`.
bool below(std::string_view path, std::string_view root) {
    return path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/';
}

}  // namespace

std::string full_name(std::string_view name_space, std::string_view resource) {
    if (name_space.empty() || name_space == default_namespace) return std::string(resource);
    std::string name;
    name.reserve(name_space.size() + resource.size() + 2);
    name += '@';
    name += name_space;
    name += '/';
    name += resource;
    return name;
}

SplitName split_name(std::string_view full_name) {
    if (full_name.empty() || full_name[0] != '@') return {default_namespace, full_name};
    const std::size_t slash = full_name.find('/');
    if (slash == std::string_view::npos) return {default_namespace, full_name};
    return {full_name.substr(1, slash - 1), full_name.substr(slash + 1)};
}

Result<std::string> normalised(std::string_view resource) {
    const std::string_view text = trimmed(resource);
    if (!text.starts_with(file_type)) return single_slashes(text);
    auto path = normalised_path(trimmed(text.substr(file_type.size())));
    if (!path) return path.error();
    return std::string(file_type) + *path;
}

std::optional<FilePath> file_path(std::string_view full_name) {
    const std::string_view name = split_name(full_name).resource;
    if (!name.starts_with(file_type)) return std::nullopt;
    const std::string_view path = name.substr(file_type.size());
    const std::string_view scope = full_name.substr(0, full_name.size() - path.size());
    if (path.ends_with(tree_ending)) return FilePath{scope, path.substr(0, path.size() - tree_ending.size()), true};
    return FilePath{scope, path, false};
}

bool overlap(const FilePath& a, const FilePath& b) {
    if (a.scope != b.scope) return false;
    return (a.tree && below(b.path, a.path)) || (b.tree && below(a.path, b.path));
}

}  // namespace holdfast::lease
