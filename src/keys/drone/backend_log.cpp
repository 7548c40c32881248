#include "keys/drone/backend_log.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

namespace holdfast::drone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view log_extension = ".log";

}  // namespace

BackendLog::BackendLog(std::string path, std::size_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {
    open();
}

void BackendLog::open() {
    file_ = Fd{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    struct stat status {};
    size_ = file_ && ::fstat(file_.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

void BackendLog::rotate() {
    file_.close();
    ::rename(path_.c_str(), (path_ + ".1").c_str());
    open();
}

void BackendLog::append(std::string_view text) {
    while (!text.empty()) {
        if (size_ >= max_bytes_) rotate();
        const std::string_view part = text.substr(0, std::min(text.size(), max_bytes_ - std::min(size_, max_bytes_)));
        const ssize_t written = file_ ? ::write(file_.get(), part.data(), part.size()) : -1;
        if (written <= 0) return;
        size_ += static_cast<std::size_t>(written);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void prune_logs(const std::string& directory, std::size_t keep, const std::set<std::string>& in_use) {
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code failed;
    for (fs::directory_iterator at{directory, failed}, end; !failed && at != end; at.increment(failed)) {
        std::error_code unreadable;
        const fs::path& path = at->path();
        const auto time = at->last_write_time(unreadable);
        if (!unreadable && path.extension() == log_extension && !in_use.contains(path.stem().string()))
            found.emplace_back(time, path);
    }
    if (found.size() <= keep) return;
    std::sort(found.begin(), found.end());
    found.resize(found.size() - keep);
    for (const auto& [time, path] : found) {
        fs::remove(path, failed);
        fs::remove(path.string() + ".1", failed);
    }
}

}  // namespace holdfast::drone
