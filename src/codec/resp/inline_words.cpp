#include "codec/resp/inline_words.h"

namespace holdfast::resp {
namespace {

bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Narrower than is_blank, as in Redis: a form feed is skipped between words, but does not end one.
bool ends_word(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

char plain_escape(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'b':
            return '\b';
        case 'a':
            return '\a';
        default:
            return c;
    }
}

/// Removes the escape after a backslash in double quotes from the line.
char take_escape(std::string_view& line) {
    if (line.size() >= 3 && line[0] == 'x' && hex_digit(line[1]) >= 0 && hex_digit(line[2]) >= 0) {
        const char value = static_cast<char>(hex_digit(line[1]) * 16 + hex_digit(line[2]));
        line.remove_prefix(3);
        return value;
    }
    const char value = plain_escape(line[0]);
    line.remove_prefix(1);
    return value;
}

/// Removes a quoted part from the line, which begins after the opening quote. False if it is not closed.
bool take_quoted(std::string_view& line, char quote, std::string& text) {
    while (!line.empty()) {
        const char c = line[0];
        line.remove_prefix(1);
        if (c == quote) return line.empty() || is_blank(line[0]);
        if (c != '\\' || line.empty()) {
            text += c;
        } else if (quote == '"') {
            text += take_escape(line);
        } else if (line[0] == '\'') {
            text += '\'';
            line.remove_prefix(1);
        } else {
            text += c;
        }
    }
    return false;
}

/// Removes a word from the beginning of the line.
bool take_word(std::string_view& line, std::string& text) {
    while (!line.empty() && !ends_word(line[0])) {
        const char c = line[0];
        line.remove_prefix(1);
        if (c != '"' && c != '\'')
            text += c;
        else
            return take_quoted(line, c, text);
    }
    return true;
}

}  // namespace

bool split_inline(std::string_view line, std::string& text, std::vector<std::string_view>& words) {
    text.clear();
    text.reserve(line.size());  // so that the views into it stay valid
    words.clear();
    while (true) {
        while (!line.empty() && is_blank(line[0]))
            line.remove_prefix(1);
        if (line.empty()) return true;
        const std::size_t begin = text.size();
        if (!take_word(line, text)) return false;
        words.push_back(std::string_view(text).substr(begin));
    }
}

}  // namespace holdfast::resp
