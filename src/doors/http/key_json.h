#pragma once

#include "doors/http/json_writer.h"
#include "keys/controller/key.h"

namespace holdfast::http {

/// `"key": {namespace, name, tag}`.
void put_key(JsonWriter& json, const core::Key& key);

}  // namespace holdfast::http
