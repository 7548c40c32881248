#pragma once

#include <string_view>

namespace holdfast::postgres {

/// The functions of the newest version of the schema, whose name is `~`. They may be made again over those of an older
/// one, which fronts may still be calling: no name that is there changes what it takes or what it answers.
extern const std::string_view functions;

}  // namespace holdfast::postgres
