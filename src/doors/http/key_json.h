#pragma once

#include <string_view>

#include "doors/http/json_writer.h"
#include "services/keys/key.h"

namespace holdfast::http {

/// `"key": {namespace, name, tag}`.
void put_key(JsonWriter& json, const core::Key& key);
/// Null for no text.
void put_text_or_null(JsonWriter& json, std::string_view name, std::string_view text);

}  // namespace holdfast::http
