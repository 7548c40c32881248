#include "cli/guard/work_tree_paths.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utf8proc.h>

#include "base/text.h"
#include "cli/guard/work_tree_names.h"

namespace holdfast {
namespace {

/// The limit of Linux on links in one path.
constexpr int max_links = 40;
constexpr std::string_view blanks = " \t\r\n\v\f";
constexpr std::string_view quotes = "\"'`";
/// Pairs of quotes, as text processors and chats write them, and of brackets around a path.
constexpr std::pair<std::string_view, std::string_view> wrappers[] = {{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"<", ">"},
                                                                      {"“", "”"},   {"‘", "’"}, {"„", "“"}, {"‚", "‘"},
                                                                      {"«", "»"},   {"‹", "›"}};
/// Characters that a shell needs a backslash before, and that rarely begin a name.
constexpr std::string_view escaped_for_shells = " ()[]{}'\"&$;!#,";

Error unusable(std::string message) {
    return {"invalid_argument", std::move(message)};
}

std::string in_quotes(std::string_view text) {
    return "'" + std::string(text) + "'";
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
               return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
           });
}

std::string without_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
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

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Folds case and the encoding of accents, for comparison.
std::string folded(std::string_view text) {
    if (is_ascii(text)) {
        std::string lower{text};
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return lower;
    }
    utf8proc_uint8_t* mapped = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(mapped, &std::free);
    if (length < 0) return std::string(text);
    return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length)};
}

std::string with_case_swapped(std::string text) {
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        c = static_cast<char>(std::islower(byte) != 0 ? std::toupper(byte) : std::tolower(byte));
    }
    return text;
}

/// True if part of the text is invisible: control and format characters, and bytes that are not UTF-8.
bool has_unseen(std::string_view text) {
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

struct Part {
    std::string text;
    bool literal = false;  ///< never a pattern, whatever it contains
};

std::vector<Part> parts_of(std::string_view path) {
    std::vector<Part> parts;
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t slash = std::min(path.find('/', from), path.size());
        if (slash > from) parts.push_back({std::string(path.substr(from, slash - from))});
        from = slash + 1;
    }
    return parts;
}

bool is_pattern_for_certain(const Part& part) {
    return !part.literal && part.text.find_first_of("*?") != std::string::npos;
}

/// Brackets, braces and alternatives: a pattern, unless there is a file of that name.
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
    return is_pattern_for_certain(part) || opens_and_closes('[', ']') ||
           (opens_and_closes('(', ')') && (part.text.find('|') != std::string::npos || opens_after("!@+"))) ||
           (opens_and_closes('{', '}') &&
            (part.text.find(',') != std::string::npos || part.text.find("..") != std::string::npos));
}

/// `{src/a,lib/b}.c`: alternatives with slashes in them, that begin in this part and end in a later one.
bool begins_pattern(const std::vector<Part>& parts, std::size_t at) {
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

/// `src / main.c`, as columns of a table or a careless model write it.
std::string with_parts_trimmed(std::string_view path) {
    std::string trimmed = path.starts_with('/') ? "/" : "";
    for (const Part& part : parts_of(path))
        trimmed += (trimmed.empty() || trimmed.ends_with('/') ? "" : "/") + without_blanks(part.text);
    return trimmed;
}

/// A parsed path.
struct Said {
    bool absolute = false;
    bool exact = false;      ///< a resource name: nothing is guessed
    bool directory = false;  ///< it ends in a slash
    std::vector<Part> parts;
};

Said said_plainly(const std::string& path) {
    return {path.starts_with('/'), false, path.ends_with('/'), parts_of(path)};
}

/// `FILE:/src/main.c`, `file:///tmp/a%20b`. REQUIRES: names_a_file().
Result<Said> said_by_name(const std::string& text) {
    const std::string unspaced = without_blanks(std::string_view(text).substr(5));
    std::string_view rest = unspaced;
    const bool is_name = text.starts_with("FILE:");
    if (!is_name && rest.starts_with("//")) {
        rest.remove_prefix(2);
        const std::string_view host = rest.substr(0, std::min(rest.find('/'), rest.size()));
        if (!host.empty() && !starts_with_ignoring_case(host, "localhost"))
            return unusable(in_quotes(text) + " is on another machine; give a path from the root of the work tree");
        rest.remove_prefix(host.size());
    }
    Said said = said_plainly(std::string(rest));
    said.exact = is_name;
    said.absolute = said.absolute && !is_name;
    for (Part& part : said.parts) {
        const auto decoded = percent_decode(part.text);
        if (!decoded || *decoded == part.text) continue;
        if (decoded->find('/') != std::string::npos || decoded->find('\0') != std::string::npos)
            return unusable(in_quotes(text) + " has an escape that no file's name can have");
        part = {*decoded, part.text.find_first_of("*?[{") == std::string::npos};
    }
    return said;
}

/// Walks from one directory along a path as the file system does: links are followed, and `..` after a link is relative
/// to the link's target.
class Walk {
 public:
    Walk(const WorkTreeFiles& files, std::string inside, bool exact)
        : files_(files), inside_(std::move(inside)), exact_(exact) {}

    /// The current place: absolute, without links. An empty path is the root of the file system.
    const std::string& place() const { return place_; }
    FileKind kind() const { return kind_; }
    /// Set if it stopped at a link: the parts that lead on.
    bool at_link() const { return kind_ == FileKind::link; }

    void start_at(std::string place) {
        place_ = std::move(place);
        kind_ = place_.empty() ? FileKind::directory : files_.kind(place_);
    }

    /// Continues along the parts. With `follow` a link at their end is followed too.
    Result<void> go(std::vector<std::string> parts, bool follow) {
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

    /// Moves from the link where it stopped to the link's target.
    Result<void> follow_last() {
        std::vector<std::string> parts;
        if (auto gone = follow_link(parts); !gone) return gone;
        std::reverse(parts.begin(), parts.end());
        return go(std::move(parts), true);
    }

 private:
    Result<void> step(const std::string& part) {
        if (part.empty() || part == ".") return {};
        if (part == "..") {
            start_at(place_.substr(0, std::min(place_.rfind('/'), place_.size())));
            return {};
        }
        if (kind_ == FileKind::file) return unusable(in_quotes(place_) + " is a file, so nothing is below it");
        const auto name = kind_ == FileKind::missing ? Result<std::string>(part) : spelled(part);
        if (!name) return name.error();
        place_ += "/" + *name;
        if (kind_ != FileKind::missing) kind_ = files_.kind(place_);
        return {};
    }

    /// Steps back from the link, and puts its target in front of the remaining parts (which are in reverse order).
    Result<void> follow_link(std::vector<std::string>& parts) {
        const std::string target = files_.target(place_);
        if (++links_ > max_links || target.empty())
            return unusable(in_quotes(place_) + " is a symbolic link that leads nowhere");
        start_at(target.starts_with('/') ? "" : place_.substr(0, place_.rfind('/')));
        auto on_the_way = parts_of(target);
        std::reverse(on_the_way.begin(), on_the_way.end());
        for (Part& part : on_the_way)
            parts.push_back(std::move(part.text));
        return {};
    }

    bool is_inside() const { return place_ == inside_ || place_.starts_with(inside_ + "/"); }

    /// The directory's spelling of a name: a file system may accept several spellings of one name.
    Result<std::string> spelled(const std::string& part) const {
        const std::string path = place_ + "/" + part;
        if (!is_inside()) return part;
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
        return unusable("there is no " + in_quotes(part) + " but there is " + in_quotes(*alike) +
                        ": write it so, or give FILE:/… for a new file that differs by case");
    }

    const WorkTreeFiles& files_;
    const std::string inside_;
    const bool exact_;
    std::string place_;
    FileKind kind_ = FileKind::directory;
    int links_ = 0;
};

class PathResolution {
 public:
    PathResolution(const WorkTreeFiles& files, const std::string& root, const std::string& path)
        : files_(files), path_(path) {
        Walk walk{files_, "/", true};
        std::vector<std::string> parts;
        for (Part& part : parts_of(root))
            parts.push_back(std::move(part.text));
        root_ = walk.go(std::move(parts), true) ? walk.place() : root;
    }

    Result<ResolvedPath> run() {
        if (path_.find('\0') != std::string::npos) return unusable("a path has no zero byte");
        if (without_blanks(path_).empty())
            return unusable("the path is empty; say which file, or '**' for everything below the root");
        if (exists(path_)) return resolve(said_plainly(path_));
        const std::string text = bare(path_);
        if (text.empty()) return unusable("there is nothing between the quotes of " + in_quotes(path_));
        if (text != path_ && exists(text)) return resolve(said_plainly(text));
        if (names_a_file(text)) {
            auto said = said_by_name(text);
            if (!said) return said.error();
            if (said->exact) make_absolute_if_so(*said);
            if (auto no = lease_id(text, *said); !no) return no.error();
            return resolve(*said);
        }
        if (auto no = foreign(text); !no) return no.error();
        const std::string plain = unescaped(text);
        if (exists(plain)) return resolve(said_plainly(plain));
        if (const auto meant = undecorated(plain)) return resolve_instead(plain, *meant);
        if (auto no = doubtful(plain); !no) return no.error();
        return resolve(said_plainly(plain));
    }

 private:
    Walk walk_from(const Said& said) const {
        Walk walk{files_, root_, said.exact};
        walk.start_at(said.absolute ? "" : root_);
        return walk;
    }

    /// True if the path exists as written, and cannot be a pattern.
    bool exists(const std::string& path) const {
        const Said said = said_plainly(path);
        std::vector<std::string> parts;
        for (const Part& part : said.parts) {
            if (is_pattern_for_certain(part)) return false;
            parts.push_back(part.text);
        }
        Walk walk = walk_from(said);
        return walk.go(std::move(parts), false) && walk.kind() != FileKind::missing;
    }

    /// `FILE:/home/me/repository/a.c` may in fact be an absolute path.
    void make_absolute_if_so(Said& said) const {
        const std::string whole = said.parts.empty() ? "" : root_ + "/" + said.parts[0].text;
        std::string path;
        for (const Part& part : said.parts)
            path += "/" + part.text;
        said.absolute = path.starts_with(root_ + "/") && files_.kind(whole) == FileKind::missing;
    }

    /// Refuses text that is not a path of this machine.
    Result<void> foreign(const std::string& text) const {
        const std::size_t scheme = text.find("://");
        if (scheme != std::string::npos && scheme > 0 && text.find('/') == scheme + 1)
            return unusable(in_quotes(text) + " is a URL; give a path from the root of the work tree");
        const bool drive = text.size() > 2 && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                           text[1] == ':' && (text[2] == '\\' || text[2] == '/');
        if (drive || text.starts_with("\\\\"))
            return unusable(in_quotes(text) + " is a path of another system; give it from the root of the work tree");
        if (names_another_kind(text))
            return unusable(in_quotes(text) + " is the name of a resource; give it as one, or FILE:/" + text +
                            " for a file of that name");
        if (text.starts_with('~') || begins_with_variable(text))
            return unusable(in_quotes(text) + " begins with '" + text.front() +
                            "', which only a shell knows; give the path from the root of the work tree");
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

    Result<ResolvedPath> resolve_instead(const std::string& said, const std::string& meant) const {
        auto resolved = resolve(said_plainly(meant));
        if (resolved)
            resolved->note = "there is no " + in_quotes(said) + ": " + in_quotes(meant) +
                             " was claimed; a new file of that name is claimed as FILE:/" + said + "." +
                             (resolved->note.empty() ? "" : " " + resolved->note);
        return resolved;
    }

    /// `FILE:/src/main.c#1795016670695` is the id of a lease, not a file.
    Result<void> lease_id(const std::string& text, const Said& said) const {
        const std::size_t hash = text.rfind('#');
        if (!said.exact || said.parts.empty() || hash == std::string::npos || hash + 1 == text.size() ||
            text.find_first_not_of("0123456789", hash + 1) != std::string::npos)
            return {};
        std::string path;
        for (const Part& part : said.parts)
            path += (path.empty() ? "" : "/") + part.text;
        if (exists(path) || !exists(path.substr(0, path.rfind('#')))) return {};
        return unusable(in_quotes(text) + " is the id of a lease; give " + in_quotes(text.substr(0, hash)));
    }

    /// Refuses paths that do not exist and are unlikely to be created.
    Result<void> doubtful(const std::string& text) const {
        if (exists(text)) return {};
        if (has_unseen(text))
            return unusable(
                "the path has characters that cannot be seen, and there is no such file; for a new file of "
                "that name give FILE:/… with %XX for them");
        const bool open = quotes.find(text.front()) != std::string_view::npos;
        const bool close = quotes.find(text.back()) != std::string_view::npos;
        if (open || close) return unusable("there is a quote at one end of " + in_quotes(text) + "; leave it out");
        if (are_several(text)) return unusable(in_quotes(text) + " is several paths; give each an intent of its own");
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

    Result<ResolvedPath> resolve(const Said& said) const {
        Walk walk = walk_from(said);
        for (std::size_t i = 0; i < said.parts.size(); ++i) {
            const Part& part = said.parts[i];
            const bool may_be = may_be_pattern(part) || begins_pattern(said.parts, i);
            if (is_pattern_for_certain(part) || (may_be && !is_there(walk, part.text)))
                return resolve_pattern(walk, said, i);
            const bool follow = i + 1 < said.parts.size() || said.directory;
            if (auto gone = walk.go({part.text}, follow); !gone) return gone.error();
        }
        if (!is_below(walk.place())) return outside();
        return walk.at_link() ? named_link(walk) : named(walk, said);
    }

    bool is_there(const Walk& walk, const std::string& part) const {
        return walk.kind() != FileKind::missing && files_.kind(walk.place() + "/" + part) != FileKind::missing;
    }

    /// `walk` is at the directory that contains the pattern.
    Result<ResolvedPath> resolve_pattern(const Walk& walk, const Said& said, std::size_t first) const {
        for (std::size_t i = first; i < said.parts.size(); ++i)
            if (said.parts[i].text == "..")
                return unusable("nobody knows where " + in_quotes(path_) + " leads; leave out the '..'");
        if (!is_below(walk.place())) return outside();
        const bool whole_tree = first + 1 == said.parts.size() && said.parts[first].text == "**";
        if (walk.kind() == FileKind::file && !whole_tree)
            return unusable(in_quotes(from_root(walk.place())) + " is a file, so nothing is below it");
        if (walk.kind() == FileKind::file)
            return ResolvedPath{{file_resource(from_root(walk.place()))},
                                in_quotes(from_root(walk.place())) + " is a file, and was claimed as such."};
        const std::string tree = tree_resource(from_root(walk.place()));
        if (whole_tree) return with_submodule({{tree}, ""}, walk);
        return with_submodule(
            {{tree},
             in_quotes(path_) + " is a pattern: the smallest tree that contains it, " + tree + ", was claimed."},
            walk);
    }

    Result<ResolvedPath> named(const Walk& walk, const Said& said) const {
        const std::string path = from_root(walk.place());
        const std::string tree = tree_resource(path);
        switch (walk.kind()) {
            case FileKind::directory:
            case FileKind::repository:
                return with_submodule({{tree},
                                       in_quotes(path.empty() ? "." : path) +
                                           " is a directory: everything below it was claimed, as " + tree + "."},
                                      walk);
            case FileKind::missing:
                return named_missing(path, said);
            default:
                return ResolvedPath{{file_resource(path)}, ""};
        }
    }

    Result<ResolvedPath> named_missing(const std::string& path, const Said& said) const {
        const std::string tree = tree_resource(path);
        if (path.empty() || said.directory)
            return ResolvedPath{
                {tree}, in_quotes(path) + " does not exist yet: everything below it was claimed, as " + tree + "."};
        const bool is_known = files_.kind(root_) != FileKind::missing;
        if (said.exact)
            return ResolvedPath{{file_resource(path)},
                                is_known ? in_quotes(path) + " does not exist yet: it was claimed as a new file." : ""};
        const std::string last = path.substr(path.rfind('/') + 1);
        if (last.find('.', 1) != std::string::npos)
            return ResolvedPath{{file_resource(path)},
                                in_quotes(path) +
                                    " does not exist yet: it was claimed as a new "
                                    "file; for a directory end it with a slash."};
        return ResolvedPath{{file_resource(path), tree},
                            in_quotes(path) + " does not exist yet: it was claimed both as a file and as a directory."};
    }

    /// The walk is at the link.
    Result<ResolvedPath> named_link(Walk walk) const {
        const std::string path = from_root(walk.place());
        ResolvedPath resolved{{file_resource(path)}, ""};
        if (!walk.follow_last() || !is_below(walk.place())) {
            resolved.note = in_quotes(path) +
                            " is a symbolic link that leads out of the work tree or nowhere: only the "
                            "link itself was claimed.";
            return resolved;
        }
        const auto target = named(walk, {});
        if (!target) return target.error();
        resolved.names.insert(resolved.names.end(), target->names.begin(), target->names.end());
        resolved.note = in_quotes(path) + " is a symbolic link: it and what it leads to, " + target->names.back() +
                        ", were claimed.";
        return resolved;
    }

    /// A submodule is one entry for git, and a tree for its users: both are claimed.
    ResolvedPath with_submodule(ResolvedPath resolved, const Walk& walk) const {
        const std::string path = from_root(walk.place());
        if (walk.kind() == FileKind::repository && !path.empty())
            resolved.names.insert(resolved.names.begin(), file_resource(path));
        return resolved;
    }

    bool is_below(const std::string& place) const { return place == root_ || place.starts_with(root_ + "/"); }
    std::string from_root(const std::string& place) const {
        return place.size() <= root_.size() ? "" : place.substr(root_.size() + 1);
    }

    Error outside() const {
        const std::string inner = path_.substr(std::min(path_.find_first_not_of('/'), path_.size()));
        const bool is_inner = path_.starts_with('/') && !inner.empty() && exists(inner);
        return unusable("the path " + in_quotes(path_) + " leads out of " + root_ +
                        (is_inner ? "; if you mean the file of the work tree, say " + in_quotes(inner)
                                  : "; give a path from the root of the work tree"));
    }

    const WorkTreeFiles& files_;
    const std::string& path_;
    std::string root_;  ///< without links
};

}  // namespace

bool names_a_file(std::string_view text) {
    return starts_with_ignoring_case(text.substr(std::min(text.find_first_not_of(blanks), text.size())), "file:");
}

bool looks_like_a_path(const WorkTreeFiles& files, const std::string& root, const std::string& resource) {
    const auto is_kind = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    const std::string text = without_blanks(resource);
    const auto kind_end = std::find_if_not(text.begin(), text.end(), is_kind);
    if (kind_end != text.end() && *kind_end == ':' && kind_end - text.begin() > 1) return false;
    return text.find_first_of("/\\.*?\"'`") != std::string::npos ||
           (!root.empty() && !text.empty() && files.kind(root + "/" + text) != FileKind::missing);
}

Result<ResolvedPath> resolve_path(const WorkTreeFiles& files, const std::string& root, const std::string& path) {
    return PathResolution{files, root, path}.run();
}

}  // namespace holdfast
