#include "cli/guard/work_tree_paths.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/guard/work_tree_names.h"
#include "cli/guard/written_path.h"

namespace holdfast::cli::guard {
namespace {

class PathResolution {
 public:
    /// `text` is what was written, for messages.
    PathResolution(const WorkTreeFiles& files, const std::string& root, const std::string& text)
        : files_(files), root_(root), text_(text) {}

    Result<ResolvedPath> resolve(const WrittenPath& path) const {
        PathWalk walk{files_, root_, path.exact};
        walk.start_at(path.absolute ? "" : root_);
        for (std::size_t i = 0; i < path.parts.size(); ++i) {
            const WrittenPath::Part& part = path.parts[i];
            if (is_pattern(part) || (may_begin_pattern(path.parts, i) && !is_there(walk, part.text)))
                return resolve_pattern(walk, path, i);
            const bool follow = i + 1 < path.parts.size() || path.directory;
            if (auto gone = walk.go({part.text}, follow); !gone) return gone.error();
        }
        if (!is_below(walk.place())) return outside();
        return walk.at_link() ? name_link(walk) : name(walk, path);
    }

 private:
    bool is_there(const PathWalk& walk, const std::string& part) const {
        return walk.kind() != FileKind::missing && files_.kind(walk.place() + "/" + part) != FileKind::missing;
    }

    /// `walk` is at the directory that contains the pattern.
    Result<ResolvedPath> resolve_pattern(const PathWalk& walk, const WrittenPath& path, std::size_t first) const {
        for (std::size_t i = first; i < path.parts.size(); ++i)
            if (path.parts[i].text == "..")
                return refuse(
                    fmt::format("'{}' has '..' after a pattern, so it can lead anywhere; leave out the '..'", text_));
        if (!is_below(walk.place())) return outside();
        const bool whole_tree = first + 1 == path.parts.size() && path.parts[first].text == "**";
        const std::string directory = from_root(walk.place());
        if (walk.kind() == FileKind::file && !whole_tree)
            return refuse(fmt::format("'{}' is a file, so nothing is below it", directory));
        if (walk.kind() == FileKind::file)
            return ResolvedPath{{file_resource(directory)},
                                fmt::format("'{}' is a file, and was claimed as such.", directory)};
        const std::string tree = tree_resource(directory);
        const std::string note =
            fmt::format("'{}' is a pattern: the smallest tree that contains it, {}, was claimed.", text_, tree);
        return with_submodule({{tree}, whole_tree ? "" : note}, walk);
    }

    Result<ResolvedPath> name(const PathWalk& walk, const WrittenPath& written) const {
        const std::string path = from_root(walk.place());
        const std::string tree = tree_resource(path);
        switch (walk.kind()) {
            case FileKind::directory:
            case FileKind::repository:
                return with_submodule({{tree},
                                       fmt::format("'{}' is a directory: everything below it was claimed, as {}.",
                                                   path.empty() ? "." : path, tree)},
                                      walk);
            case FileKind::missing:
                return name_missing(path, written);
            default:
                return ResolvedPath{{file_resource(path)}, ""};
        }
    }

    ResolvedPath name_missing(const std::string& path, const WrittenPath& written) const {
        const std::string tree = tree_resource(path);
        const std::string missing = fmt::format("'{}' does not exist yet: ", path);
        if (path.empty() || written.directory)
            return {{tree}, fmt::format("{}everything below it was claimed, as {}.", missing, tree)};
        const bool is_known = files_.kind(root_) != FileKind::missing;
        if (written.exact) return {{file_resource(path)}, is_known ? missing + "it was claimed as a new file." : ""};
        const std::string last = path.substr(path.rfind('/') + 1);
        if (last.find('.', 1) != std::string::npos)
            return {{file_resource(path)},
                    missing + "it was claimed as a new file; for a directory, end the path with a slash."};
        return {{file_resource(path), tree}, missing + "it was claimed both as a file and as a directory."};
    }

    /// The walk is at the link.
    Result<ResolvedPath> name_link(PathWalk walk) const {
        const std::string path = from_root(walk.place());
        ResolvedPath resolved{{file_resource(path)}, ""};
        if (!walk.follow_last() || !is_below(walk.place())) {
            resolved.note = fmt::format(
                "'{}' is a symbolic link that leads out of the work tree or nowhere: only the "
                "link itself was claimed.",
                path);
            return resolved;
        }
        const auto target = name(walk, {});
        if (!target) return target.error();
        resolved.names.insert(resolved.names.end(), target->names.begin(), target->names.end());
        resolved.note = fmt::format("'{}' is a symbolic link: the link and its target, {}, were claimed.", path,
                                    target->names.back());
        return resolved;
    }

    /// A submodule is one entry for git, and a tree for its users: both are claimed.
    ResolvedPath with_submodule(ResolvedPath resolved, const PathWalk& walk) const {
        const std::string path = from_root(walk.place());
        if (walk.kind() == FileKind::repository && !path.empty())
            resolved.names.insert(resolved.names.begin(), file_resource(path));
        return resolved;
    }

    bool is_below(const std::string& place) const { return place == root_ || place.starts_with(root_ + "/"); }
    std::string from_root(const std::string& place) const {
        return place.size() <= root_.size() ? "" : place.substr(root_.size() + 1);
    }

    static Error refuse(std::string message) { return {Code::invalid_argument, std::move(message)}; }

    Error outside() const {
        const std::string inner = text_.substr(std::min(text_.find_first_not_of('/'), text_.size()));
        const bool is_inner = text_.starts_with('/') && !inner.empty() && exists_as_written(files_, root_, inner);
        const std::string advice = is_inner ? fmt::format("if you mean the file of the work tree, say '{}'", inner)
                                            : "give a path from the root of the work tree";
        return refuse(fmt::format("the path '{}' leads out of {}; {}", text_, root_, advice));
    }

    const WorkTreeFiles& files_;
    const std::string& root_;
    const std::string& text_;
};

}  // namespace

Result<ResolvedPath> resolve_path(const WorkTreeFiles& files, const std::string& root, const std::string& path) {
    const std::string real_root = without_links(files, root);
    const auto written = read_path(files, real_root, path);
    if (!written) return written.error();
    auto resolved = PathResolution{files, real_root, path}.resolve(*written);
    if (resolved && !written->note.empty())
        resolved->note = written->note + (resolved->note.empty() ? "" : " " + resolved->note);
    return resolved;
}

}  // namespace holdfast::cli::guard
