#pragma once

#include <string>
#include <vector>

namespace holdfast {

enum class FileKind {
    missing,
    file,  ///< also what is neither of the others, such as a socket
    directory,
    repository,  ///< a directory with a git repository of its own: a submodule, or the work tree itself
    link,
};

/// What has to be known of a file system to tell which file a path means. Paths are absolute.
class WorkTreeFiles {
 public:
    virtual ~WorkTreeFiles() = default;

    /// A link at the end of the path is not followed.
    virtual FileKind kind(const std::string& path) const = 0;
    /// Where a link points, as it was written. Empty if that cannot be read.
    virtual std::string target(const std::string& link) const = 0;
    /// The names in a directory, in any order.
    virtual std::vector<std::string> entries(const std::string& directory) const = 0;
};

/// The file system of this machine. What cannot be read counts as missing.
class DiskFiles final : public WorkTreeFiles {
 public:
    FileKind kind(const std::string& path) const override;
    std::string target(const std::string& link) const override;
    std::vector<std::string> entries(const std::string& directory) const override;
};

/// A file system of which nothing is known: every path is missing.
class UnknownFiles final : public WorkTreeFiles {
 public:
    FileKind kind(const std::string& /*path*/) const override { return FileKind::missing; }
    std::string target(const std::string& /*link*/) const override { return {}; }
    std::vector<std::string> entries(const std::string& /*directory*/) const override { return {}; }
};

}  // namespace holdfast
