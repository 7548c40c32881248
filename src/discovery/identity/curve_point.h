#pragma once

#include <string_view>

namespace holdfast {

/// True if the bytes are the one encoding of a point of Ed25519's curve that can be somebody's key. A point of small
/// order is nobody's: for it anybody can make signatures that hold.
bool is_public_key_point(std::string_view bytes);

}  // namespace holdfast
