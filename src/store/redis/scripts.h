#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::store::redis {

/// The scripts that run inside Redis. Times are microseconds as text. A reply is the status OK or an array of bulk
/// strings, most of which begin with the reply of TIME. A position is a
/// counter (cas::Position): a call of `swap` that writes anything raises it by one, however many keys it writes.
enum class Script : std::uint8_t {
    none,
    /// Takes a key and the position's key → [time, position, value if present].
    fetch,
    /// CHANNEL UNTIL MARKER|'' REQUIRED-POSITION RECORDS, then for each of them
    /// MARK|'' VALUE|'' 'FROM UNTIL'|'' SCORE|'' ENTERS LEAVES NOTICE → [time, position, letters, values…], with one
    /// letter per record (SwapLetter), and one value for each `other` and `error`. The keys are those of the records,
    /// of the marker, the position and the due set, and then for each record of the ENTERS sets that it enters and the
    /// LEAVES sets that it leaves: Redis checks before it begins that all are here (in a cluster) and permitted. The
    /// record enters the due set with SCORE unless it is in there with an earlier one. A record and its entries in the
    /// sets are written together or not at all. The notices of what was done are published as one message. If the reply
    /// is an error, nothing was written, unless Redis allowed writes to records but not to the counter, or no message.
    swap,
    /// MOST BEHIND AGAIN: takes the first entries of the due set that are BEHIND their time. It deletes the records
    /// that are past their end, with their entries in all sets, and returns those that are due, which are due again
    /// after AGAIN, so that no other front takes them at once → [time, number of entries, names…].
    sweep,
};
/// The outcome of a swap.
struct SwapLetter {
    static constexpr char done = 'd';
    static constexpr char time = 't';     ///< outside the window
    static constexpr char other = 'o';    ///< another value is there
    static constexpr char nothing = 'n';  ///< no value is there, but one was expected
    static constexpr char error = 'e';    ///< Redis cannot read or write this key
    static constexpr char lost = 'l';     ///< the marker is not the required one
    static constexpr char back = 'p';     ///< the position is lower than required
};
inline constexpr std::size_t script_count = static_cast<std::size_t>(Script::sweep) + 1;

std::string_view text_of(Script script);

/// The SHA1 digests that a Redis returned for the scripts.
using ScriptNames = std::array<std::string, script_count>;

/// Appends a command word by word.
class CommandWriter {
 public:
    CommandWriter(std::string& out, std::size_t words);
    /// EVALSHA with keys, to be added next, and then `arguments` arguments.
    CommandWriter(std::string& out, const ScriptNames& names, Script script, std::size_t keys, std::size_t arguments);

    CommandWriter& add(std::string_view word);
    CommandWriter& add(std::int64_t number);
    /// Appends one word made of two parts.
    CommandWriter& add_joined(std::string_view first, std::string_view second);

    /// Appends words for a command whose header is written later.
    static void append(std::string& out, std::initializer_list<std::string_view> words);
    static void append_joined(std::string& out, std::string_view first, std::string_view second);

 private:
    std::string& out_;
};

/// The same command with the script's text instead of its digest, for a Redis that no longer has the script.
std::string with_text(std::string_view evalsha, Script script);

}  // namespace holdfast::store::redis
