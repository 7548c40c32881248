#pragma once

#include <string>
#include <vector>

namespace holdfast {

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

}  // namespace holdfast
