#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace holdfast {

/// Where a search over seeds begins: at 1, so that `make test` runs the same each time, or where HOLDFAST_FIRST_SEED
/// says. `make soak` sets it, to search elsewhere in every round.
inline std::uint64_t first_seed() {
    const char* text = std::getenv("HOLDFAST_FIRST_SEED");
    return text == nullptr ? 1 : std::stoull(text);
}

}  // namespace holdfast
