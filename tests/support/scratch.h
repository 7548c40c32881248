#pragma once

#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>

namespace holdfast {

/// A new folder for the data of an engine that a test starts: in memory where there is room, so that no test waits for
/// a disk that others use. It is the caller's to remove.
inline std::string make_scratch_folder(const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path memory = "/dev/shm";
    std::error_code failed;
    const bool room =
        fs::is_directory(memory, failed) && fs::space(memory, failed).available > (std::uintmax_t{2} << 30);
    std::string pattern = ((room ? memory : fs::temp_directory_path()) / ("holdfast-" + name + "-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder");
    return pattern;
}

}  // namespace holdfast
