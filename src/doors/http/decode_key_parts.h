#pragma once

#include <string>
#include <string_view>

#include "doors/http/decode_parts.h"
#include "keys/controller/key.h"

namespace holdfast::http {

/// What the decoders of decode_keys.h share.

enum class NameNeed : std::uint8_t { required, optional };

/// `{name, namespace?, tag?}`; no object is one without a name. A key without a name keeps none, if that may be.
Result<core::Key> key_from(const JsonValue* object, NameNeed need);

/// The name of a drone, a backend or a pool.
std::string plain_name_field(Fields& fields, std::string_view name, std::size_t most_bytes);
Result<void> check_plain_name(std::string_view name, std::string_view value, std::size_t most_bytes);

}  // namespace holdfast::http
