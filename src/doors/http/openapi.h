#pragma once

#include <string_view>

namespace holdfast::http {

/// docs/openapi.json, as it was when this was built.
std::string_view openapi_json();

}  // namespace holdfast::http
