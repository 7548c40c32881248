#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::codec::resp {

/// Limits of one command; beyond them the stream is malformed.
inline constexpr std::size_t max_words = 10'000;
inline constexpr std::size_t max_command_bytes = 1 << 20;
inline constexpr std::size_t max_inline_bytes = 64 << 10;

/// Reads commands from a stream of bytes: RESP arrays of bulk strings, or inline commands (a line of words, as typed
/// into a terminal). Copies no array and allocates nothing once warm. When a command arrives in pieces, at most one
/// header per piece is read twice. Input that Redis 7 calls malformed is malformed here, with the same messages; so is
/// an array whose lines and words do not end in `\r\n`, which Redis accepts.
class CommandReader {
 public:
    enum class Outcome : std::uint8_t { command, more, malformed };

    /// Reads `input`, which begins after the last command and includes at least the bytes of the previous call, though
    /// perhaps at another address. `command`: words() returns it, and size() bytes are consumed; pass the bytes after
    /// them next. `more`: the command is incomplete. `malformed`: error() says why, and nothing after it can be
    /// understood.
    Outcome read(std::string_view input);

    /// The words, valid until the next read() and while the input stays where it is. None for an empty line and an
    /// empty array, which are to be ignored.
    std::span<const std::string_view> words() const { return words_; }
    std::size_t size() const { return at_; }
    /// The message to send after `Protocol error: `. May contain bytes of the input.
    std::string_view error() const { return error_; }

    /// After `more`: the number of bytes still missing from the current word, for sizing a buffer. It is the announced
    /// length, at most max_command_bytes. 0: unknown.
    std::size_t wants() const { return wants_; }

 private:
    struct Word {
        std::uint32_t begin;
        std::uint32_t size;
    };
    enum class Step : std::uint8_t { done, more, malformed };

    bool read_whole(std::string_view input);
    void start_over();
    Step read_count(std::string_view input);
    Step read_word(std::string_view input);
    Outcome read_array(std::string_view input);
    Outcome read_inline(std::string_view input);
    Step fail(std::string_view why);
    Outcome finish(std::string_view input);

    std::size_t at_ = 0;        // everything before is parsed
    std::size_t scanned_ = 0;   // in an inline command: everything before has no end of line
    std::size_t expected_ = 0;  // words of the array
    std::size_t wants_ = 0;
    bool done_ = true;
    std::vector<Word> found_;  // by offset, as the input may move between the pieces
    std::vector<std::string_view> words_;
    std::string unquoted_;  // the text of an inline command's words
    std::string error_;
};

/// Splits a line typed by hand into words, as redis-cli and Redis do: words are separated by blanks; in double quotes
/// the escapes `\n \r \t \b \a \\ \"` and `\xHH` are recognised, in single quotes only `\'`. The words are views into
/// `text`, which is overwritten and never longer than the line. False if a quote is not closed, or is closed in the
/// middle of a word.
bool split_inline(std::string_view line, std::string& text, std::vector<std::string_view>& words);

/// Appends a command as an array of bulk strings.
void write_command(std::string& out, std::span<const std::string_view> words);
void write_command(std::string& out, std::initializer_list<std::string_view> words);
/// Returns the command as a string.
std::string command_of(std::initializer_list<std::string_view> words);

}  // namespace holdfast::codec::resp
