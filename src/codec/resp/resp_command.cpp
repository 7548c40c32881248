#include "codec/resp/resp_command.h"

#include "codec/resp/resp_number.h"

namespace holdfast::codec::resp {
namespace {

/// Limits of the memory that a connection keeps for its next command. A rare large command does not cost memory
/// permanently.
constexpr std::size_t max_words_kept = 256;
constexpr std::size_t max_inline_bytes_kept = 4 << 10;

/// A line that announces a number: `*3` or `$5`.
struct Header {
    enum class State : std::uint8_t { whole, cut, bad };

    State state = State::cut;
    std::int64_t number = 0;
    std::size_t next = 0;  // after the end of the line
};

/// Reads the header whose type is at `at`. Strict, as parse_integer() is, and written out for speed, as every word of
/// every command begins with one. It detects a bad header at its first bad byte, so the pieces it arrives in do not
/// matter.
[[gnu::always_inline]] inline Header read_header(std::string_view input, std::size_t at) {
    constexpr std::ptrdiff_t max_digits = 18;  // no number overflows
    const char* const end = input.data() + input.size();
    const char* next = input.data() + at + 1;
    const bool negative = next != end && *next == '-';
    if (negative) ++next;
    const char* const digits = next;
    std::int64_t number = 0;
    while (next != end && *next >= '0' && *next <= '9' && next - digits < max_digits)
        number = number * 10 + (*next++ - '0');
    if (next == end) return {};
    const bool leading_zero = next != digits && *digits == '0' && (negative || next - digits > 1);
    if (*next != '\r' || next == digits || leading_zero) return {.state = Header::State::bad};
    if (++next == end) return {};
    if (*next != '\n') return {.state = Header::State::bad};
    return {Header::State::whole, negative ? -number : number, static_cast<std::size_t>(next + 1 - input.data())};
}

// ---- inline commands ----

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

void CommandReader::start_over() {
    at_ = scanned_ = expected_ = 0;
    done_ = false;
    found_.clear();
    if (found_.capacity() > max_words_kept) found_ = {};
    if (words_.capacity() > max_words_kept) words_ = {};
    if (unquoted_.capacity() > max_inline_bytes_kept) unquoted_ = {};
}

CommandReader::Step CommandReader::fail(std::string_view why) {
    error_ = why;
    done_ = true;
    return Step::malformed;
}

CommandReader::Outcome CommandReader::finish(std::string_view input) {
    words_.resize(found_.size());
    for (std::size_t i = 0; i < found_.size(); ++i)
        words_[i] = {input.data() + found_[i].begin, found_[i].size};
    done_ = true;
    return Outcome::command;
}

CommandReader::Outcome CommandReader::read(std::string_view input) {
    if (done_) start_over();
    wants_ = 0;
    if (input.empty()) return Outcome::more;
    return input[0] == '*' ? read_array(input) : read_inline(input);
}

/// The number of a complete header of up to three digits, with `at` moved behind it; -1 for any other.
[[gnu::always_inline]] inline int read_short_header(const char*& at, const char* end) {
    if (end - at < 4) return -1;
    int number = at[1] - '0';
    if (number < 0 || number > 9) return -1;
    const char* next = at + 2;
    for (int more = 0; more < 2 && next != end && *next >= '0' && *next <= '9' && number != 0; ++more)
        number = number * 10 + (*next++ - '0');
    if (end - next < 2 || next[0] != '\r' || next[1] != '\n') return -1;
    at = next + 2;
    return number;
}

/// Reads a command that is complete and short, as nearly every one is. False if undecided: use the general path.
bool CommandReader::read_whole(std::string_view input) {
    const char* at = input.data();
    const char* const end = at + input.size();
    const int count = read_short_header(at, end);
    if (count <= 0) return false;
    words_.resize(static_cast<std::size_t>(count));
    for (std::string_view& word : words_) {
        if (at == end || *at != '$') return false;
        const int size = read_short_header(at, end);
        if (size < 0 || end - at < size + 2 || at[size] != '\r' || at[size + 1] != '\n') return false;
        word = {at, static_cast<std::size_t>(size)};
        at += size + 2;
    }
    at_ = static_cast<std::size_t>(at - input.data());
    done_ = true;
    return true;
}

CommandReader::Outcome CommandReader::read_array(std::string_view input) {
    if (at_ == 0 && read_whole(input)) return Outcome::command;
    Step step = at_ == 0 ? read_count(input) : Step::done;
    while (step == Step::done && found_.size() < expected_)
        step = read_word(input);
    if (step == Step::done) return finish(input);
    return step == Step::more ? Outcome::more : Outcome::malformed;
}

CommandReader::Step CommandReader::read_count(std::string_view input) {
    const Header header = read_header(input, 0);
    if (header.state == Header::State::cut) return Step::more;
    if (header.state == Header::State::bad || header.number > static_cast<std::int64_t>(max_words))
        return fail("invalid multibulk length");
    expected_ = header.number > 0 ? static_cast<std::size_t>(header.number) : 0;
    at_ = header.next;
    return Step::done;
}

CommandReader::Step CommandReader::read_word(std::string_view input) {
    if (at_ >= input.size()) return Step::more;
    if (input[at_] != '$') return fail(std::string("expected '$', got '") + input[at_] + '\'');
    const Header header = read_header(input, at_);
    if (header.state == Header::State::cut) return Step::more;
    if (header.state == Header::State::bad || header.number < 0) return fail("invalid bulk length");
    if (header.number > static_cast<std::int64_t>(max_command_bytes)) return fail("invalid bulk length");
    const std::size_t end = header.next + static_cast<std::size_t>(header.number);
    if (end > max_command_bytes) return fail("the command is too large");
    if (input.size() < end + 2) {
        wants_ = end + 2 - input.size();
        return Step::more;
    }
    if (input[end] != '\r' || input[end + 1] != '\n') return fail("expected a line end after a word");
    found_.push_back({static_cast<std::uint32_t>(header.next), static_cast<std::uint32_t>(header.number)});
    at_ = end + 2;
    return Step::done;
}

CommandReader::Outcome CommandReader::read_inline(std::string_view input) {
    const std::string_view head = input.substr(0, max_inline_bytes);
    const std::size_t end = head.find('\n', scanned_);
    if (end == std::string_view::npos) {
        scanned_ = head.size();
        if (head.size() < max_inline_bytes) return Outcome::more;
        fail("too big inline request");
        return Outcome::malformed;
    }
    const std::size_t text_end = end > 0 && head[end - 1] == '\r' ? end - 1 : end;
    if (!split_inline(head.substr(0, text_end), unquoted_, words_)) fail("unbalanced quotes in request");
    if (!done_ && words_.size() > max_words) fail("too many words in request");
    if (done_) return Outcome::malformed;
    at_ = end + 1;
    done_ = true;
    return Outcome::command;
}

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

void write_command(std::string& out, std::span<const std::string_view> words) {
    append_header(out, '*', words.size());
    for (const std::string_view word : words) {
        append_header(out, '$', word.size());
        out += word;
        out += "\r\n";
    }
}

void write_command(std::string& out, std::initializer_list<std::string_view> words) {
    write_command(out, std::span(words.begin(), words.size()));
}

std::string command_of(std::initializer_list<std::string_view> words) {
    std::string out;
    write_command(out, words);
    return out;
}

}  // namespace holdfast::codec::resp
