#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::core {

/// The one form of a service's name, Unicode NFC, or `invalid_name` saying what is wrong with it (docs/discovery.md).
Result<std::string> normalised_service_name(std::string_view text);

/// The name of a service that has none of its own: `~` and 16 hex digits.
std::string given_service_name(std::uint64_t random);
bool is_given_service_name(std::string_view name);

/// The resource of the service with this name, and back. REQUIRES: normalised; is_service(resource).
std::string service_resource(std::string_view name);
std::string_view service_name_of(std::string_view resource);

}  // namespace holdfast::core
