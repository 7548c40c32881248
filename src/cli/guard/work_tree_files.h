#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::cli::guard {

enum class FileKind {
    missing,
    file,  ///< also any other kind, such as a socket
    directory,
    repository,  ///< a directory with a git repository of its own: a submodule, or the work tree itself
    link,
};

/// The file system as needed to resolve a path. Paths are absolute.
class WorkTreeFiles {
 public:
    virtual ~WorkTreeFiles() = default;

    /// A link at the end of the path is not followed.
    virtual FileKind kind(const std::string& path) const = 0;
    /// The target of a link, unresolved. Empty if it cannot be read.
    virtual std::string target(const std::string& link) const = 0;
    /// The names in a directory, in any order.
    virtual std::vector<std::string> entries(const std::string& directory) const = 0;
};

/// The file system of this machine. An unreadable path counts as missing.
class DiskFiles final : public WorkTreeFiles {
 public:
    FileKind kind(const std::string& path) const override;
    std::string target(const std::string& link) const override;
    std::vector<std::string> entries(const std::string& directory) const override;
};

/// An unknown file system: every path is missing.
class UnknownFiles final : public WorkTreeFiles {
 public:
    FileKind kind(const std::string& /*path*/) const override { return FileKind::missing; }
    std::string target(const std::string& /*link*/) const override { return {}; }
    std::vector<std::string> entries(const std::string& /*directory*/) const override { return {}; }
};

/// Walks from one directory along a path as the file system does: links are followed, and `..` after a link is relative
/// to the link's target. Below the root, names get the spelling of their directory, since a file system may accept
/// several spellings of one name. Errors are `invalid_argument`, with advice for the user.
class PathWalk {
 public:
    /// With `exact` a name that differs from an existing one only by case is a new name; otherwise it is refused.
    PathWalk(const WorkTreeFiles& files, std::string root, bool exact)
        : files_(files), root_(std::move(root)), exact_(exact) {}

    /// The current place: absolute, without links. An empty path is the root of the file system.
    const std::string& place() const { return place_; }
    FileKind kind() const { return kind_; }
    bool at_link() const { return kind_ == FileKind::link; }

    void start_at(std::string place);
    /// Continues along the parts. With `follow` a link at their end is followed too.
    Result<void> go(std::vector<std::string> parts, bool follow);
    /// Moves from the link where it stopped to the link's target.
    Result<void> follow_last();

 private:
    Result<void> step(const std::string& part);
    Result<void> follow_link(std::vector<std::string>& parts);
    Result<std::string> spelled(const std::string& part) const;
    bool is_below_root() const { return place_ == root_ || place_.starts_with(root_ + "/"); }

    const WorkTreeFiles& files_;
    const std::string root_;
    const bool exact_;
    std::string place_;
    FileKind kind_ = FileKind::directory;
    int links_ = 0;
};

/// An absolute path with all its links followed; unchanged if that is not possible.
std::string without_links(const WorkTreeFiles& files, const std::string& path);

/// The names in a path, without its slashes.
std::vector<std::string> split_path(std::string_view path);

}  // namespace holdfast::cli::guard
