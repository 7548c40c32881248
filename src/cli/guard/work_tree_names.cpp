#include "cli/guard/work_tree_names.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <utf8proc.h>

#include "base/text.h"

namespace holdfast::cli::guard {
namespace {

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

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The text in NFC and further changed by `option`; unchanged if it is not UTF-8.
std::string composed(std::string_view text, utf8proc_option_t option) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | option));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(mapped, &std::free);
    if (length < 0) return std::string(text);
    return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length)};
}

std::string escaped(std::string_view written) {
    const std::string composed_path = to_nfc(written);
    std::string_view path = composed_path;
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

}  // namespace

std::string file_resource(std::string_view path) {
    return std::string(prefix) + escaped(path);
}

std::string tree_resource(std::string_view path) {
    return path.empty() ? fmt::format("{}**", prefix) : fmt::format("{}{}/**", prefix, escaped(path));
}

std::string_view shown_path(std::string_view resource) {
    return resource.starts_with(prefix) ? resource.substr(prefix.size()) : resource;
}

std::string to_nfc(std::string_view text) {
    return is_ascii(text) ? std::string(text) : composed(text, UTF8PROC_STABLE);
}

std::string folded(std::string_view text) {
    if (!is_ascii(text)) return composed(text, UTF8PROC_CASEFOLD);
    std::string lower{text};
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

}  // namespace holdfast::cli::guard
