#include "cli/guard/work_tree_files.h"

#include <filesystem>
#include <system_error>

namespace holdfast {
namespace {

namespace fs = std::filesystem;

/// Larger directories are not read: a claim of many new files must not take seconds. Similar spellings are not detected
/// there.
constexpr std::size_t max_entries = 20'000;

}  // namespace

FileKind DiskFiles::kind(const std::string& path) const {
    std::error_code failed;
    switch (fs::symlink_status(path, failed).type()) {
        case fs::file_type::none:
        case fs::file_type::not_found:
            return FileKind::missing;
        case fs::file_type::symlink:
            return FileKind::link;
        case fs::file_type::directory:
            return fs::exists(fs::path(path) / ".git", failed) ? FileKind::repository : FileKind::directory;
        default:
            return FileKind::file;
    }
}

std::string DiskFiles::target(const std::string& link) const {
    std::error_code failed;
    const fs::path target = fs::read_symlink(link, failed);
    return failed ? std::string{} : target.string();
}

std::vector<std::string> DiskFiles::entries(const std::string& directory) const {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator at{directory, failed}, end; !failed && at != end; at.increment(failed)) {
        if (names.size() == max_entries) return {};
        names.push_back(at->path().filename().string());
    }
    return names;
}

}  // namespace holdfast
