#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::discovery::directory {

/// The service name in Unicode NFC. Error `invalid_name` says what is wrong with it (docs/discovery.md).
Result<std::string> normalised_service_name(std::string_view text);

/// The generated name of an unnamed service: `~` and 16 hex digits.
std::string given_service_name(std::uint64_t random);
bool is_given_service_name(std::string_view name);

/// The resource of a service name, and the reverse. REQUIRES: the name is normalised; is_service(resource).
std::string service_resource(std::string_view name);
std::string_view service_name_of(std::string_view resource);

}  // namespace holdfast::discovery::directory
