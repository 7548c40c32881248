#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::lease {

/// A resource in a namespace is `@namespace/resource`; in the default one it is just the resource. So a lease needs
/// only one name, and the rules ignore namespaces.
inline constexpr std::string_view default_namespace = "default";
std::string full_name(std::string_view name_space, std::string_view resource);

/// Services are leases in a namespace of their own (D2), which only the directory changes. Namespaces that begin with
/// `~` are reserved for the server.
inline constexpr std::string_view services_prefix = "@~services/";
inline bool is_reserved(std::string_view full_name) {
    return full_name.starts_with("@~");
}
inline bool is_service(std::string_view full_name) {
    return full_name.starts_with(services_prefix);
}

struct SplitName {
    std::string_view name_space;
    std::string_view resource;
};
SplitName split_name(std::string_view full_name);

/// The normal form of a resource name within its namespace: no surrounding spaces, no `//`, no trailing `/`; in a
/// `FILE:` path no `/./` either. Error code `invalid_argument` for a `FILE:` path with `..`, or with `**` before its
/// end: only a file system can resolve those.
Result<std::string> normalised(std::string_view resource);

/// The path of a resource among the files of its namespace. `FILE:/a/b` is the path `/a/b`; `FILE:/a/**` is the tree
/// below `/a`.
struct FilePath {
    std::string_view scope;  ///< the part before the path: `FILE:` or `@namespace/FILE:`
    std::string_view path;   ///< without the `/**`; empty for the tree below the root
    bool tree = false;
};

/// Returns nullopt for a resource that is not a file. REQUIRES: `full_name` is a full name, normalised.
std::optional<FilePath> file_path(std::string_view full_name);

/// True if the two differ and one contains the other: one is a tree, the other a file or tree below it.
bool overlap(const FilePath& a, const FilePath& b);

}  // namespace holdfast::lease
