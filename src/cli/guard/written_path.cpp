#include "cli/guard/written_path.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <utf8proc.h>

#include "base/text.h"

namespace holdfast::cli::guard {
namespace {

using Part = WrittenPath::Part;

constexpr std::string_view path_blanks = " \t\r\n\v\f";
constexpr std::string_view quotes = "\"'`";
/// Pairs of quotes, as text processors and chats write them, and of brackets around a path.
constexpr std::pair<std::string_view, std::string_view> wrappers[] = {{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"<", ">"},
                                                                      {"“", "”"},   {"‘", "’"}, {"„", "“"}, {"‚", "‘"},
                                                                      {"«", "»"},   {"‹", "›"}};
/// Characters that a shell needs a backslash before, and that rarely begin a name.
constexpr std::string_view escaped_for_shells = " ()[]{}'\"&$;!#,";

template <class... Values>
Error unusable(fmt::format_string<Values...> format, Values&&... values) {
    return {Code::invalid_argument, fmt::format(format, std::forward<Values>(values)...)};
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
               return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
           });
}

std::string without_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(path_blanks);
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(path_blanks) - first + 1));
}

/// Removes blanks, pairs of quotes and angle brackets around the text.
std::string bare(std::string text) {
    for (;;) {
        text = without_blanks(text);
        const auto* const around = std::find_if(std::begin(wrappers), std::end(wrappers), [&](const auto& pair) {
            return text.size() >= pair.first.size() + pair.second.size() && text.starts_with(pair.first) &&
                   text.ends_with(pair.second);
        });
        if (around == std::end(wrappers)) return text;
        text = text.substr(around->first.size(), text.size() - around->first.size() - around->second.size());
    }
}

/// `my\ file.c` as a shell reads it.
std::string without_shell_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != '\\' || i + 1 == text.size() || escaped_for_shells.find(text[i + 1]) == std::string_view::npos)
            plain += text[i];
    return plain;
}

/// `$HOME/a.c`, `${ROOT}/a.c`. Not `$id.tsx`, a file name that frameworks use.
bool begins_with_variable(std::string_view text) {
    if (text.starts_with("${")) return true;
    const std::size_t end = std::min(text.find('/'), text.size());
    return text.starts_with('$') && end > 1 &&
           std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end),
                       [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_'; });
}

/// `SYMBOL:parse_config`.
bool names_another_kind(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon != std::string_view::npos && colon > 1 &&
           std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                       [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
}

/// True if part of the text is invisible: control and format characters, and bytes that are not UTF-8.
bool has_invisible(std::string_view text) {
    while (!text.empty()) {
        utf8proc_int32_t character = 0;
        const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &character);
        if (length <= 0) return true;
        const auto category = utf8proc_category(character);
        if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_ZL ||
            category == UTF8PROC_CATEGORY_ZP)
            return true;
        if (category == UTF8PROC_CATEGORY_ZS && character != ' ') return true;
        text.remove_prefix(static_cast<std::size_t>(length));
    }
    return false;
}

std::vector<Part> parts_of(std::string_view path) {
    std::vector<Part> parts;
    for (std::string& part : split_path(path))
        parts.push_back({std::move(part)});
    return parts;
}

bool may_be_pattern(const Part& part) {
    if (part.literal) return false;
    const auto opens_and_closes = [&](char open, char close) {
        const std::size_t at = part.text.find(open);
        return at != std::string::npos && part.text.find(close, at + 1) != std::string::npos;
    };
    const auto opens_after = [&](std::string_view marks) {
        const std::size_t at = part.text.find('(');
        return at != std::string::npos && at > 0 && marks.find(part.text[at - 1]) != std::string_view::npos;
    };
    return is_pattern(part) || opens_and_closes('[', ']') ||
           (opens_and_closes('(', ')') && (part.text.find('|') != std::string::npos || opens_after("!@+"))) ||
           (opens_and_closes('{', '}') &&
            (part.text.find(',') != std::string::npos || part.text.find("..") != std::string::npos));
}

/// `src / main.c`, as columns of a table or a careless model write it.
std::string with_parts_trimmed(std::string_view path) {
    std::string trimmed = path.starts_with('/') ? "/" : "";
    for (const std::string& part : split_path(path))
        trimmed += (trimmed.empty() || trimmed.ends_with('/') ? "" : "/") + without_blanks(part);
    return trimmed;
}

WrittenPath as_written(const std::string& path) {
    return {path.starts_with('/'), false, path.ends_with('/'), parts_of(path), ""};
}

/// `FILE:/src/main.c`, `file:///tmp/a%20b`. REQUIRES: names_a_file().
Result<WrittenPath> read_name(const std::string& text) {
    const std::string unspaced = without_blanks(std::string_view(text).substr(5));
    std::string_view rest = unspaced;
    const bool is_name = text.starts_with("FILE:");
    if (!is_name && rest.starts_with("//")) {
        rest.remove_prefix(2);
        const std::string_view host = rest.substr(0, std::min(rest.find('/'), rest.size()));
        if (!host.empty() && !starts_with_ignoring_case(host, "localhost"))
            return unusable("'{}' is on another machine; give a path from the root of the work tree", text);
        rest.remove_prefix(host.size());
    }
    WrittenPath path = as_written(std::string(rest));
    path.exact = is_name;
    path.absolute = path.absolute && !is_name;
    for (Part& part : path.parts) {
        const auto decoded = percent_decode(part.text);
        if (!decoded || *decoded == part.text) continue;
        if (decoded->find('/') != std::string::npos || decoded->find('\0') != std::string::npos)
            return unusable("'{}' has an escape that no file's name can contain", text);
        part = {*decoded, part.text.find_first_of("*?[{") == std::string::npos};
    }
    return path;
}

class Reading {
 public:
    Reading(const WorkTreeFiles& files, const std::string& root, const std::string& text)
        : files_(files), root_(root), text_(text) {}

    Result<WrittenPath> run() const {
        if (text_.find('\0') != std::string::npos) return unusable("a path cannot contain a zero byte");
        if (without_blanks(text_).empty())
            return unusable("the path is empty; name a file, or '**' for everything below the root");
        if (exists(text_)) return as_written(text_);
        const std::string text = bare(text_);
        if (text.empty()) return unusable("there is nothing between the quotes of '{}'", text_);
        if (text != text_ && exists(text)) return as_written(text);
        if (names_a_file(text)) {
            auto path = read_name(text);
            if (!path) return path.error();
            if (path->exact) make_absolute_if_so(*path);
            if (auto refused = refuse_lease_id(text, *path); !refused) return refused.error();
            return path;
        }
        if (auto refused = refuse_foreign(text); !refused) return refused.error();
        const std::string plain = unescaped(text);
        if (exists(plain)) return as_written(plain);
        if (const auto meant = undecorated(plain)) {
            WrittenPath path = as_written(*meant);
            path.note = fmt::format(
                "there is no '{0}': '{1}' was claimed; a new file of that name is claimed as "
                "FILE:/{0}.",
                plain, *meant);
            return path;
        }
        if (auto refused = refuse_doubtful(plain); !refused) return refused.error();
        return as_written(plain);
    }

 private:
    bool exists(const std::string& path) const { return exists_as_written(files_, root_, path); }

    /// `FILE:/home/me/repository/a.c` may in fact be an absolute path.
    void make_absolute_if_so(WrittenPath& path) const {
        const std::string whole = path.parts.empty() ? "" : root_ + "/" + path.parts[0].text;
        std::string from_slash;
        for (const Part& part : path.parts)
            from_slash += "/" + part.text;
        path.absolute = from_slash.starts_with(root_ + "/") && files_.kind(whole) == FileKind::missing;
    }

    /// Refuses text that is not a path of this machine.
    static Result<void> refuse_foreign(const std::string& text) {
        const std::size_t scheme = text.find("://");
        if (scheme != std::string::npos && scheme > 0 && text.find('/') == scheme + 1)
            return unusable("'{}' is a URL; give a path from the root of the work tree", text);
        const bool drive = text.size() > 2 && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                           text[1] == ':' && (text[2] == '\\' || text[2] == '/');
        if (drive || text.starts_with("\\\\"))
            return unusable("'{}' is a path of another system; give it from the root of the work tree", text);
        if (names_another_kind(text))
            return unusable(
                "'{0}' is the name of a resource; give it as a resource, or as FILE:/{0} for a file of "
                "that name",
                text);
        if (text.starts_with('~') || begins_with_variable(text))
            return unusable(
                "'{}' begins with '{}', which only a shell expands; give the path from the root of the "
                "work tree",
                text, text.front());
        return {};
    }

    /// Replaces `\` by `/`, unless it is a shell escape.
    std::string unescaped(std::string text) const {
        const std::string plain = without_shell_escapes(text);
        const bool escapes_blanks = text.find("\\ ") != std::string::npos;
        std::replace(text.begin(), text.end(), '\\', '/');
        if (exists(text)) return text;
        return escapes_blanks || exists(plain) ? plain : text;
    }

    /// The file that remains without the decorations that models and tools add, if it exists. REQUIRES: there is no
    /// file `text`.
    std::optional<std::string> undecorated(const std::string& text) const {
        const auto without_end = [&](std::string_view ending) {
            return text.substr(0, text.find_last_not_of(ending) + 1);
        };
        std::vector<std::string> meant;
        if (text.starts_with('@')) meant.push_back(text.substr(1));
        if (text.starts_with("a/") || text.starts_with("b/")) meant.push_back(text.substr(2));  // as in a diff
        const std::string unnumbered = without_end("0123456789:,-L#");
        if (unnumbered.size() < text.size() &&
            std::string_view(":#").find(text[unnumbered.size()]) != std::string::npos)
            meant.push_back(unnumbered);
        meant.push_back(without_end(".,;:!)"));  // not '?', which makes a pattern of it
        if ((text.starts_with('(') && text.ends_with(')')) || (text.starts_with('[') && text.ends_with(']')))
            meant.push_back(text.substr(1, text.size() - 2));
        meant.push_back(with_parts_trimmed(text));
        if (const auto decoded = percent_decode(text)) meant.push_back(*decoded);
        for (const std::string& one : meant)
            if (!one.empty() && one != text && exists(one)) return one;
        return std::nullopt;
    }

    /// Refuses `FILE:/src/main.c#1795016670695`, the id of a lease.
    Result<void> refuse_lease_id(const std::string& text, const WrittenPath& read) const {
        const std::size_t hash = text.rfind('#');
        if (!read.exact || read.parts.empty() || hash == std::string::npos || hash + 1 == text.size() ||
            text.find_first_not_of("0123456789", hash + 1) != std::string::npos)
            return {};
        std::string path;
        for (const Part& part : read.parts)
            path += (path.empty() ? "" : "/") + part.text;
        if (exists(path) || !exists(path.substr(0, path.rfind('#')))) return {};
        return unusable("'{}' is the id of a lease; give '{}'", text, text.substr(0, hash));
    }

    /// Refuses paths that do not exist and are unlikely to be created.
    Result<void> refuse_doubtful(const std::string& text) const {
        if (exists(text)) return {};
        if (has_invisible(text))
            return unusable(
                "the path has invisible characters, and there is no such file; for a new file of that name give "
                "FILE:/… with %XX for each of them");
        const bool open = quotes.find(text.front()) != std::string_view::npos;
        const bool close = quotes.find(text.back()) != std::string_view::npos;
        if (open || close) return unusable("there is a quote at one end of '{}'; remove it", text);
        if (are_several(text)) return unusable("'{}' is several paths; give each an intent of its own", text);
        return {};
    }

    bool are_several(const std::string& text) const {
        std::size_t found = 0;
        for (std::size_t from = 0; from < text.size();) {
            const std::size_t end = std::min(text.find_first_of(" ,;|", from), text.size());
            const std::string one = bare(text.substr(from, end - from));
            from = end + 1;
            if (one.empty() || one == "and" || one == "&" || one == "+") continue;
            if (!exists(one) && !is_in_a_directory(one)) return false;
            ++found;
        }
        return found > 1;
    }

    bool is_in_a_directory(const std::string& path) const {
        const std::size_t slash = path.rfind('/');
        return slash != std::string::npos && slash > 0 && exists(path.substr(0, slash));
    }

    const WorkTreeFiles& files_;
    const std::string& root_;
    const std::string& text_;
};

}  // namespace

Result<WrittenPath> read_path(const WorkTreeFiles& files, const std::string& root, const std::string& text) {
    return Reading{files, root, text}.run();
}

bool exists_as_written(const WorkTreeFiles& files, const std::string& root, const std::string& path) {
    const auto parts = parts_of(path);
    if (std::any_of(parts.begin(), parts.end(), is_pattern)) return false;
    PathWalk walk{files, root, false};
    walk.start_at(path.starts_with('/') ? "" : root);
    return walk.go(split_path(path), false) && walk.kind() != FileKind::missing;
}

bool is_pattern(const Part& part) {
    return !part.literal && part.text.find_first_of("*?") != std::string::npos;
}

bool may_begin_pattern(const std::vector<Part>& parts, std::size_t at) {
    if (may_be_pattern(parts[at])) return true;
    // `{src/a,lib/b}.c`: alternatives with slashes in them, which end in a later part.
    const std::string& text = parts[at].text;
    const std::size_t open = text.find_last_of("{(");
    if (parts[at].literal || open == std::string::npos) return false;
    const char closing = text[open] == '{' ? '}' : ')';
    Part joined{text.substr(open)};
    for (std::size_t i = at + 1; i < parts.size() && joined.text.find(closing) == std::string::npos; ++i)
        joined.text += "/" + parts[i].text;
    return joined.text.size() > text.size() - open &&
           may_be_pattern({joined.text.substr(0, joined.text.find(closing) + 1)});
}

bool names_a_file(std::string_view text) {
    return starts_with_ignoring_case(text.substr(std::min(text.find_first_not_of(path_blanks), text.size())), "file:");
}

bool looks_like_a_path(const WorkTreeFiles& files, const std::string& root, const std::string& resource) {
    const auto is_kind = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    const std::string text = without_blanks(resource);
    const auto kind_end = std::find_if_not(text.begin(), text.end(), is_kind);
    if (kind_end != text.end() && *kind_end == ':' && kind_end - text.begin() > 1) return false;
    return text.find_first_of("/\\.*?\"'`") != std::string::npos ||
           (!root.empty() && !text.empty() && files.kind(root + "/" + text) != FileKind::missing);
}

}  // namespace holdfast::cli::guard
