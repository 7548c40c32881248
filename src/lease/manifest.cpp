#include "lease/manifest.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "lease/limits.h"

namespace holdfast::lease {
namespace {

Error invalid(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

bool is_namespace_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

}  // namespace

Result<void> check_holder(std::string_view holder) {
    if (holder.empty()) return invalid("holder is missing or empty; it names who asks");
    return check_text({"holder", holder}, limits::holder_bytes);
}

Result<void> check_resource(std::string_view resource) {
    if (resource.empty()) return invalid("resource is missing or empty");
    if (resource[0] == '@') return invalid("resource must not start with '@'; give the namespace in its own field");
    return check_text({"resource", resource}, limits::resource_bytes);
}

Result<void> check_namespace(std::string_view name_space) {
    // A namespace that begins with `~` is reserved for the server; it may be read (is_reserved()).
    const std::string_view letters = name_space.substr(name_space.starts_with('~') ? 1 : 0);
    const bool well_formed = name_space.size() <= limits::namespace_bytes &&
                             std::all_of(letters.begin(), letters.end(), is_namespace_character);
    if (!well_formed) return invalid("namespace may have at most 64 of the characters A-Z a-z 0-9 . _ -");
    return {};
}

Result<std::vector<Intent>> checked_manifest(std::vector<Intent> intents) {
    if (intents.empty()) return invalid("intents must name at least one resource");
    if (intents.size() > limits::intents_per_manifest)
        return invalid(fmt::format("intents may name at most {} resources", limits::intents_per_manifest));
    std::vector<Intent> distinct;
    distinct.reserve(intents.size());
    for (Intent& intent : intents) {
        const SplitName name = split_name(intent.resource);
        auto one_name = normalised(name.resource);
        if (!one_name) return one_name.error();
        if (auto checked = check_resource(*one_name); !checked) return checked.error();
        intent.resource = full_name(name.name_space, *one_name);
        if (std::find(distinct.begin(), distinct.end(), intent) == distinct.end())
            distinct.push_back(std::move(intent));
    }
    return distinct;
}

}  // namespace holdfast::lease
