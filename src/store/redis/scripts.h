#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::redis_engine {

/// What runs inside Redis. Times are microseconds as text. Answers are arrays of bulk strings, most of which begin with
/// what TIME says, or the status OK. POSITION is the counter that each swap raises (core::Position).
enum class Script : std::uint8_t {
    none,
    /// Of a key and that of the position → [time, POSITION, value if there is one].
    fetch,
    /// CHANNEL UNTIL MARKER|'' POSITION and, of each key but those of the marker and of the position, which are the
    /// last, MARK|'' VALUE|'' 'FROM UNTIL'|'' PXAT|'' NOTICE|'' → [time, POSITION, letters, values…], a letter for each
    /// key (SwapLetter), and a value for each `other` and `error`. An error instead: nothing was written, unless Redis
    /// lets records be written but not the counter.
    swap,
    /// (SCORE OWN|'' MEMBER)…: names the members until then at least; forgets those of the past. A member that has
    /// another score than OWN is not this front's alone from then on: the score becomes an odd one (indices.h).
    cover,
    /// (SCORE MEMBER)…: no longer names those that have this score.
    drop,
    /// (SCORE MEMBER)…: names the members then, or earlier if that was said before → [scores…].
    due,
    /// MOST BEHIND AGAIN: takes the first members that have been due for that long, and names them again after that
    /// long, lest somebody else take them at once → [time, new score, members…].
    take,
    /// (SCORE NEW|'' MEMBER)…: names the members at another time, or no longer, unless somebody did since take.
    settle,
    /// MOST → [time, members that are covered…].
    look,
};
/// What became of a swap.
struct SwapLetter {
    static constexpr char done = 'd';
    static constexpr char time = 't';     ///< it is not in the window
    static constexpr char other = 'o';    ///< something else is there
    static constexpr char nothing = 'n';  ///< there was to be something
    static constexpr char error = 'e';    ///< Redis cannot read or write this key
    static constexpr char lost = 'l';     ///< the marker is not as it must be
    static constexpr char back = 'p';     ///< the position is lower than it must be
};
inline constexpr std::size_t script_count = static_cast<std::size_t>(Script::look) + 1;

std::string_view text_of(Script script);

/// The names that a Redis gave them.
using ScriptNames = std::array<std::string, script_count>;

/// Appends a command word by word.
class CommandWriter {
 public:
    CommandWriter(std::string& out, std::size_t words);
    /// EVALSHA with several keys, which follow, and so many arguments.
    CommandWriter(std::string& out, const ScriptNames& names, Script script, std::size_t keys, std::size_t arguments);
    /// EVALSHA with one key and so many arguments.
    CommandWriter(std::string& out, const ScriptNames& names, Script script, std::string_view key,
                  std::size_t arguments);

    CommandWriter& add(std::string_view word);
    CommandWriter& add(std::int64_t number);
    /// One word of two parts.
    CommandWriter& add_joined(std::string_view first, std::string_view second);

    /// Words for a command that is begun later.
    static void append(std::string& out, std::initializer_list<std::string_view> words);
    static void append_joined(std::string& out, std::string_view first, std::string_view second);

 private:
    std::string& out_;
};

/// The same command with the text of the script instead of its name: for a Redis that has forgotten it.
std::string with_text(std::string_view evalsha, Script script);

}  // namespace holdfast::redis_engine
