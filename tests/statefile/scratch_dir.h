#pragma once

#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>

namespace holdfast::statefile {

/// A directory of a test's own, gone when the test ends.
class ScratchDir {
 public:
    ScratchDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
        path_ = pattern;
    }
    ~ScratchDir() {
        std::error_code failed;
        std::filesystem::remove_all(path_, failed);
    }
    ScratchDir(const ScratchDir&) = delete;
    ScratchDir& operator=(const ScratchDir&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
    std::string path_;
};

}  // namespace holdfast::statefile
