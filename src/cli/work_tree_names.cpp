#include "cli/work_tree_names.h"

#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "FILE:/";
constexpr std::string_view everything_below = "**";

bool is_hex(char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

void append_escaped(std::string& to, char byte) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    const auto value = static_cast<unsigned char>(byte);
    to += {'%', digits[value >> 4], digits[value & 15]};
}

/// The length of the UTF-8 sequence at the start of the text; zero if there is none.
std::size_t sequence_length(std::string_view text) {
    for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length)
        if (is_utf8(text.substr(0, length))) return length;
    return 0;
}

std::string escaped_part(std::string_view part) {
    if (part == everything_below) return "%2A%2A";
    std::string text;
    while (!part.empty()) {
        const std::size_t length = sequence_length(part);
        const bool looks_escaped = part.size() > 2 && part[0] == '%' && is_hex(part[1]) && is_hex(part[2]);
        if (length == 0 || looks_escaped || has_control_characters(part.substr(0, length))) {
            append_escaped(text, part[0]);
            part.remove_prefix(1);
        } else {
            text += part.substr(0, length);
            part.remove_prefix(length);
        }
    }
    return text;
}

std::string escaped(std::string_view path) {
    std::string text;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        text += escaped_part(path.substr(0, slash));
        if (slash == std::string_view::npos) break;
        text += '/';
        path.remove_prefix(slash + 1);
    }
    if (text.ends_with(' ')) text.replace(text.size() - 1, 1, "%20");  // the server trims names
    return text;
}

/// The path from the root, if it stays inside.
std::optional<std::string> below(const fs::path& root, const fs::path& absolute) {
    const std::string relative =
        absolute.lexically_normal().lexically_relative(root.lexically_normal()).generic_string();
    const bool outside = relative.empty() || relative == ".." || relative.starts_with("../");
    if (outside) return std::nullopt;
    return relative == "." ? "" : relative;
}

/// A path may come with symbolic links in it that the root was freed of.
fs::path without_links(const fs::path& path) {
    std::error_code failed;
    const fs::path freed = fs::weakly_canonical(path, failed);
    return failed ? path : freed;
}

/// The last part stays: git keeps links as such.
fs::path without_links_on_the_way(const fs::path& path) {
    return without_links(path.parent_path()) / path.filename();
}

}  // namespace

std::string file_resource(std::string_view path) {
    return std::string(prefix) + escaped(path);
}

std::string tree_resource(std::string_view path) {
    return path.empty() ? std::string(prefix) + "**" : std::string(prefix) + escaped(path) + "/**";
}

std::string_view shown_path(std::string_view resource) {
    return resource.starts_with(prefix) ? resource.substr(prefix.size()) : resource;
}

Result<std::string> named_by_path(const std::string& root, const std::string& path) {
    const bool is_tree = path == everything_below || path.ends_with("/**");
    std::string plain = is_tree ? path.substr(0, path.size() - everything_below.size()) : path;
    while (plain.size() > 1 && plain.ends_with('/'))
        plain.pop_back();
    const fs::path absolute = fs::path(root) / plain;
    auto inside = below(root, absolute);
    if (!inside) {
        const fs::path plainly = absolute.lexically_normal();
        inside = below(without_links(root), is_tree ? without_links(plainly) : without_links_on_the_way(plainly));
    }
    if (!inside) return Error{"invalid_argument", "the path '" + path + "' leads out of " + root};
    if (is_tree) return tree_resource(*inside);
    if (inside->empty()) return Error{"invalid_argument", "'" + path + "' is no file; say '**' for everything below"};
    return file_resource(*inside);
}

}  // namespace holdfast
