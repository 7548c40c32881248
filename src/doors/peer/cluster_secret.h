#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::doors::peer {

inline constexpr std::size_t secret_bytes_least = 16;
inline constexpr std::size_t max_secret_bytes = 4096;

/// Reads the secret shared by all members of a cluster: the content of the file without trailing line breaks, or
/// HOLDFAST_CLUSTER_SECRET if no file is named. Errors: `no_secret`, `exposed_secret` if the group can write the file
/// or others have any access to it, `short_secret`, `long_secret`.
Result<std::string> read_cluster_secret(const std::string& path_or_empty);

}  // namespace holdfast::doors::peer
