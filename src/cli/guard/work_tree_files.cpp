#include "cli/guard/work_tree_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>

#include "cli/guard/work_tree_names.h"

namespace holdfast::cli::guard {
namespace {

namespace fs = std::filesystem;

/// Larger directories are not read: a claim of many new files must not take seconds. Similar spellings are not detected
/// there.
constexpr std::size_t max_entries = 20'000;
/// The limit of Linux on links in one path.
constexpr int max_links = 40;

std::string with_case_swapped(std::string text) {
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        c = static_cast<char>(std::islower(byte) != 0 ? std::toupper(byte) : std::tolower(byte));
    }
    return text;
}

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

void PathWalk::start_at(std::string place) {
    place_ = std::move(place);
    kind_ = place_.empty() ? FileKind::directory : files_.kind(place_);
}

Result<void> PathWalk::go(std::vector<std::string> parts, bool follow) {
    std::reverse(parts.begin(), parts.end());
    while (!parts.empty()) {
        const std::string part = std::move(parts.back());
        parts.pop_back();
        if (auto gone = step(part); !gone) return gone;
        if (!at_link() || (parts.empty() && !follow)) continue;
        if (auto gone = follow_link(parts); !gone) return gone;
    }
    return {};
}

Result<void> PathWalk::follow_last() {
    std::vector<std::string> parts;
    if (auto gone = follow_link(parts); !gone) return gone;
    std::reverse(parts.begin(), parts.end());
    return go(std::move(parts), true);
}

Result<void> PathWalk::step(const std::string& part) {
    if (part.empty() || part == ".") return {};
    if (part == "..") {
        start_at(place_.substr(0, std::min(place_.rfind('/'), place_.size())));
        return {};
    }
    if (kind_ == FileKind::file)
        return Error{Code::invalid_argument, fmt::format("'{}' is a file, so nothing is below it", place_)};
    const auto name = kind_ == FileKind::missing ? Result<std::string>(part) : spelled(part);
    if (!name) return name.error();
    place_ += "/" + *name;
    if (kind_ != FileKind::missing) kind_ = files_.kind(place_);
    return {};
}

/// Steps back from the link, and puts its target in front of the remaining parts, which are in reverse order.
Result<void> PathWalk::follow_link(std::vector<std::string>& parts) {
    const std::string target = files_.target(place_);
    if (++links_ > max_links || target.empty())
        return Error{Code::invalid_argument, fmt::format("'{}' is a symbolic link that cannot be followed", place_)};
    start_at(target.starts_with('/') ? "" : place_.substr(0, place_.rfind('/')));
    auto on_the_way = split_path(target);
    std::reverse(on_the_way.begin(), on_the_way.end());
    parts.insert(parts.end(), on_the_way.begin(), on_the_way.end());
    return {};
}

Result<std::string> PathWalk::spelled(const std::string& part) const {
    const std::string path = place_ + "/" + part;
    if (!is_below_root()) return part;
    const bool exists = files_.kind(path) != FileKind::missing;
    const std::string swapped = with_case_swapped(part);
    if (exists && (swapped == part || files_.kind(place_ + "/" + swapped) == FileKind::missing)) return part;
    const auto names = files_.entries(place_);
    if (std::find(names.begin(), names.end(), part) != names.end()) return part;
    std::optional<std::string> alike;
    const std::string composed = to_nfc(part);
    const std::string without_case = folded(part);
    for (const std::string& name : names) {
        if (to_nfc(name) == composed) return name;
        if (folded(name) == without_case) alike = name;
    }
    if (!alike) return part;
    if (exists) return *alike;
    if (exact_) return part;
    return Error{Code::invalid_argument,
                 fmt::format("there is no '{}', but there is '{}': use that spelling, or give FILE:/… for a new file "
                             "whose name differs only by case",
                             part, *alike)};
}

std::string without_links(const WorkTreeFiles& files, const std::string& path) {
    PathWalk walk{files, "/", true};  // with this root every name is taken as written
    return walk.go(split_path(path), true) ? walk.place() : path;
}

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t slash = std::min(path.find('/', from), path.size());
        if (slash > from) parts.emplace_back(path.substr(from, slash - from));
        from = slash + 1;
    }
    return parts;
}

}  // namespace holdfast::cli::guard
