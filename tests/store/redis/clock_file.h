#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace holdfast::store::redis {

/// A file that says how far the wall clock of a process is off, in seconds (tests/e2e/ownership/wrong_clock.cpp).
class ClockFile {
 public:
    ClockFile() {
        std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-clock-XXXXXX").string();
        const int file = ::mkstemp(pattern.data());
        if (file < 0) throw std::runtime_error("no temporary file");
        ::close(file);
        path_ = pattern;
        set(0);
    }
    ~ClockFile() {
        std::error_code failed;
        std::filesystem::remove(path_, failed);
    }
    ClockFile(const ClockFile&) = delete;
    ClockFile& operator=(const ClockFile&) = delete;

    void set(std::int64_t seconds) {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
    }
    std::vector<std::string> environment() const { return {"LD_PRELOAD=" WRONG_CLOCK, "WRONG_CLOCK_FILE=" + path_}; }

 private:
    std::string path_;
};

}  // namespace holdfast::store::redis
