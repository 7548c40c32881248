#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lease/predicate.h"

namespace holdfast::core {

/// One operation on one resource.
struct Intent {
    std::string resource;  ///< the full name, with its namespace
    Predicate predicate = Predicate::mutates;

    bool operator==(const Intent&) const = default;
};

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

/// Error code `invalid_argument`, naming the field, for text that is empty, too long, not UTF-8 or has control
/// characters.
Result<void> check_resource(std::string_view resource);
Result<void> check_namespace(std::string_view name_space);
struct TextField {
    std::string_view name;
    std::string_view value;
};
Result<void> check_text(TextField field, std::size_t max_bytes);
Result<void> check_holder(std::string_view holder);

/// Checks a manifest (G1), normalises each resource name (lease/resource.h) and drops duplicate intents. The order is
/// kept.
Result<std::vector<Intent>> checked_manifest(std::vector<Intent> intents);

}  // namespace holdfast::core
