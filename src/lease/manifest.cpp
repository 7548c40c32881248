#include "lease/manifest.h"

#include <algorithm>

#include "base/code.h"
#include "base/text.h"
#include "lease/limits.h"
#include "lease/resource.h"

namespace holdfast::core {
namespace {

Error invalid(std::string message) {
    return {std::string(name_of(Code::invalid_argument)), std::move(message)};
}

bool is_namespace_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
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

Result<void> check_text(TextField field, std::size_t max_bytes) {
    const std::string name(field.name);
    if (field.value.size() > max_bytes)
        return invalid(name + " is longer than " + std::to_string(max_bytes) + " bytes");
    if (!is_utf8(field.value)) return invalid(name + " is not UTF-8");
    if (has_control_characters(field.value)) return invalid(name + " contains control characters");
    return {};
}

Result<void> check_holder(std::string_view holder) {
    if (holder.empty()) return invalid("holder must say who asks; it is missing or empty");
    return check_text({"holder", holder}, limits::holder_bytes);
}

Result<void> check_resource(std::string_view resource) {
    if (resource.empty()) return invalid("resource must name something; it is missing or empty");
    if (resource[0] == '@') return invalid("resource must not start with '@'; say the namespace in its own field");
    return check_text({"resource", resource}, limits::resource_bytes);
}

Result<void> check_namespace(std::string_view name_space) {
    // A namespace that begins with `~` is reserved for the server; it may be read (is_reserved()).
    const std::string_view letters = name_space.substr(name_space.starts_with('~') ? 1 : 0);
    const bool well_formed = name_space.size() <= limits::namespace_bytes &&
                             std::all_of(letters.begin(), letters.end(), is_namespace_character);
    if (!well_formed) return invalid("namespace takes up to 64 of the characters A-Z a-z 0-9 . _ -");
    return {};
}

Result<std::vector<Intent>> checked_manifest(std::vector<Intent> intents) {
    if (intents.empty()) return invalid("intents must name at least one resource");
    if (intents.size() > limits::intents_per_manifest)
        return invalid("intents may name at most " + std::to_string(limits::intents_per_manifest) + " resources");
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

}  // namespace holdfast::core
