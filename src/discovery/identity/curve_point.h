#pragma once

#include <string_view>

namespace holdfast {

/// True if the bytes are the canonical encoding of a point on Ed25519's curve that is valid as a public key. Points of
/// small order are not: anybody can forge signatures that verify under them.
bool is_public_key_point(std::string_view bytes);

}  // namespace holdfast
