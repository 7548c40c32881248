#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast {

/// Reads session ids, one per line, from a file or from standard input (`-`). Empty lines and those that begin with `#`
/// are passed over, blanks around an id too. An id that is named twice counts once. The error names the line.
Result<std::vector<std::string>> read_sessions(const std::string& path, bool any_id);

}  // namespace holdfast
