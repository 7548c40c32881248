#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::peer {

inline constexpr std::size_t secret_bytes_least = 16;
inline constexpr std::size_t max_secret_bytes = 4096;

/// What all members of a cluster know and nobody else: the content of the file, without the line's end, or of
/// HOLDFAST_CLUSTER_SECRET if no file is named. Errors: `no_secret`, `exposed_secret` if others than its owner and
/// group may read or change the file, `short_secret`, `long_secret`.
Result<std::string> read_cluster_secret(const std::string& path_or_empty);

}  // namespace holdfast::peer
