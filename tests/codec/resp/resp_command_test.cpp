#include "codec/resp/resp_command.h"

#include <gtest/gtest.h>
#include <optional>

#include "codec/resp/reading.h"

namespace holdfast::codec::resp {
namespace {

using Outcome = CommandReader::Outcome;

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

TEST(CommandReader, reads_an_array_of_bulk_strings) {
    const auto reading = read_at_once<CommandReader>("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
    EXPECT_EQ(reading.items, (std::vector<Words>{{"SET", "k", ""}}));
}

TEST(CommandReader, lets_a_word_hold_any_byte) {
    const std::string word("\r\n\0*$\xff\r\n", 8);
    const auto reading = read_at_once<CommandReader>("*2\r\n$4\r\nECHO\r\n$8\r\n" + word + "\r\n");
    EXPECT_EQ(reading.items, (std::vector<Words>{{"ECHO", word}}));
}

TEST(CommandReader, reads_what_is_pipelined_one_by_one) {
    const std::string stream = "*1\r\n$4\r\nPING\r\nPING again\r\n*1\r\n$4\r\nQUIT\r\n*1\r\n$";
    const auto reading = read_at_once<CommandReader>(stream);
    EXPECT_EQ(reading.items, (std::vector<Words>{{"PING"}, {"PING", "again"}, {"QUIT"}}));
    EXPECT_EQ(reading.used, stream.size() - 5) << "what is not whole is left";
}

TEST(CommandReader, shows_words_where_they_lie_in_the_input) {
    const std::string input = "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n";
    CommandReader reader;
    ASSERT_EQ(reader.read(input), Outcome::command);
    EXPECT_EQ(reader.words()[1].data(), input.data() + 18);
}

TEST(CommandReader, passes_over_empty_lines_and_arrays) {
    const auto reading = read_at_once<CommandReader>("\r\n\n   \r\n*0\r\n*-1\r\n*-5\r\nPING\n");
    ASSERT_EQ(reading.items.size(), 7u);
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_TRUE(reading.items[i].empty()) << i;
    EXPECT_EQ(reading.items[6], Words{"PING"});
    EXPECT_EQ(reading.error, "");
}

TEST(CommandReader, says_what_is_malformed_in_the_words_of_redis) {
    struct {
        std::string_view input, error;
    } const rows[] = {
        {"*x\r\n", "invalid multibulk length"},
        {"*\r\n", "invalid multibulk length"},
        {"*01\r\n", "invalid multibulk length"},
        {"*+1\r\n", "invalid multibulk length"},
        {"*-0\r\n", "invalid multibulk length"},
        {"*-\r\n", "invalid multibulk length"},
        {"*1 \r\n", "invalid multibulk length"},
        {"*1\n$4\nPING\r\n", "invalid multibulk length"},
        {"*1\rx", "invalid multibulk length"},
        {"*10001\r\n", "invalid multibulk length"},
        {"*99999999999999999999999999", "invalid multibulk length"},
        {"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"},
        {"*1\r\n:1\r\n", "expected '$', got ':'"},
        {"*1\r\n\r\n", "expected '$', got '\r'"},
        {"*1\r\n$-1\r\n", "invalid bulk length"},
        {"*1\r\n$\r\n", "invalid bulk length"},
        {"*1\r\n$04\r\nPING\r\n", "invalid bulk length"},
        {"*1\r\n$abc\r\n", "invalid bulk length"},
        {"*1\r\n$1048577\r\n", "invalid bulk length"},
        {"*1\r\n$999999999999999999999\r\n", "invalid bulk length"},
        {"*1\r\n$1048576\r\n", "the command is too large"},
        {"*1\r\n$4\r\nPINGxx", "expected a line end after a word"},
        {"*1\r\n$4\r\nPING\r\r", "expected a line end after a word"},
        {"ECHO \"abc\r\n", "unbalanced quotes in request"},
    };
    for (const auto& row : rows) {
        const auto reading = read_at_once<CommandReader>(row.input);
        EXPECT_EQ(reading.error, row.error) << row.input;
        EXPECT_TRUE(reading.items.empty()) << row.input;
        EXPECT_EQ(reading, read_bytewise<CommandReader>(row.input)) << row.input;
    }
}

TEST(CommandReader, bounds_the_words_of_a_command) {
    const std::string most = "*10000\r\n" + repeated("$1\r\nx\r\n", max_words);
    EXPECT_EQ(read_at_once<CommandReader>(most).items.at(0).size(), max_words);
    EXPECT_EQ(read_at_once<CommandReader>(repeated("x ", max_words) + "\n").items.at(0).size(), max_words);
    EXPECT_EQ(read_at_once<CommandReader>(repeated("x ", max_words + 1) + "\n").error, "too many words in request");
}

TEST(CommandReader, bounds_the_bytes_of_a_command) {
    const std::string header = "*1\r\n$1048562\r\n";
    const std::string word(max_command_bytes - header.size(), 'x');
    EXPECT_EQ(read_at_once<CommandReader>(header + word + "\r\n").items.at(0), Words{word});
    const std::string two = "*2\r\n$600000\r\n" + std::string(600000, 'x') + "\r\n$600000\r\n";
    EXPECT_EQ(read_at_once<CommandReader>(two).error, "the command is too large");
}

TEST(CommandReader, bounds_the_bytes_of_an_inline_command_whole_or_in_pieces) {
    const std::string longest = std::string(max_inline_bytes - 1, 'x') + "\n";
    EXPECT_EQ(read_at_once<CommandReader>(longest).items.size(), 1u);
    for (const std::string& too_long : {"x" + longest, "x" + longest.substr(0, max_inline_bytes - 1)}) {
        const auto reading = read_at_once<CommandReader>(too_long);
        EXPECT_EQ(reading.error, "too big inline request");
        const std::size_t cuts[] = {1000, max_inline_bytes - 1, max_inline_bytes};
        EXPECT_EQ(reading, read_in_pieces<CommandReader>(too_long, cuts));
    }
}

TEST(CommandReader, tells_how_much_of_a_word_is_missing) {
    CommandReader reader;
    EXPECT_EQ(reader.read("*2\r\n$4\r\nE"), Outcome::more);
    EXPECT_EQ(reader.wants(), 5u);
    EXPECT_EQ(reader.read("*2\r\n$4\r\nECHO\r\n$10"), Outcome::more);
    EXPECT_EQ(reader.wants(), 0u) << "an earlier word's need is not this one's";
    EXPECT_EQ(reader.read("*2\r\n$4\r\nECHO\r\n$1000\r\n"), Outcome::more);
    EXPECT_EQ(reader.wants(), 1002u);
}

TEST(CommandReader, waits_for_more_when_there_is_nothing) {
    CommandReader reader;
    EXPECT_EQ(reader.read(""), Outcome::more);
    EXPECT_EQ(reader.wants(), 0u);
}

// Were the words found so far read again with each byte, this would take the better part of an hour under ASan.
TEST(CommandReader, takes_the_largest_command_byte_by_byte) {
    std::string input;
    const std::vector<std::string_view> words(max_words, "0123456789012345678901234567890123456789");
    write_command(input, words);
    CommandReader reader;
    for (std::size_t shown = 0; shown < input.size(); ++shown)
        ASSERT_EQ(reader.read(std::string_view(input).substr(0, shown)), Outcome::more);
    ASSERT_EQ(reader.read(input), Outcome::command);
    EXPECT_EQ(reader.words().size(), max_words);
    EXPECT_EQ(reader.size(), input.size());
}

TEST(CommandReader, reads_on_after_a_command_that_was_large) {
    const std::string stream =
        "*10000\r\n" + repeated("$1\r\nx\r\n", max_words) + "'" + std::string(9000, 'y') + "'\nPING\n";
    const auto reading = read_at_once<CommandReader>(stream);
    ASSERT_EQ(reading.items.size(), 3u);
    EXPECT_EQ(reading.items[2], Words{"PING"});
}

TEST(WriteCommand, writes_what_the_reader_reads) {
    std::string out = "before";
    write_command(out, {"SET", "k", ""});
    EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
}

std::optional<Words> split(std::string_view line) {
    std::string text;
    std::vector<std::string_view> words;
    if (!split_inline(line, text, words)) return std::nullopt;
    return Words(words.begin(), words.end());
}

TEST(InlineWords, are_separated_by_blanks) {
    EXPECT_EQ(split(""), Words{});
    EXPECT_EQ(split(" \t\v\f "), Words{});
    EXPECT_EQ(split("PING"), Words{"PING"});
    EXPECT_EQ(split("  SET\tk   v "), (Words{"SET", "k", "v"}));
    EXPECT_EQ(split("\vECHO a\fb"), (Words{"ECHO", "a\fb"})) << "as in Redis";
}

TEST(InlineWords, may_be_quoted) {
    EXPECT_EQ(split(R"(SET k "a b")"), (Words{"SET", "k", "a b"}));
    EXPECT_EQ(split(R"(SET k 'a b')"), (Words{"SET", "k", "a b"}));
    EXPECT_EQ(split(R"("" '')"), (Words{"", ""}));
    EXPECT_EQ(split(R"(a"b c")"), Words{"ab c"});
    EXPECT_EQ(split(R"("it's")"), Words{"it's"});
}

TEST(InlineWords, know_the_escapes_of_double_quotes) {
    EXPECT_EQ(split(R"("\n\r\t\b\a\\\"")"), Words{"\n\r\t\b\a\\\""});
    EXPECT_EQ(split(R"("\x41\xfF\x0a")"), Words{"A\xff\n"});
    EXPECT_EQ(split(R"("\q\xZZ\x4")"), Words{"qxZZx4"});
    EXPECT_EQ(split(R"(a\nb)"), Words{R"(a\nb)"}) << "not outside of quotes";
}

TEST(InlineWords, know_one_escape_in_single_quotes) {
    EXPECT_EQ(split(R"('it\'s')"), Words{"it's"});
    EXPECT_EQ(split(R"('\n\\ ')"), Words{R"(\n\\ )"});
}

TEST(InlineWords, refuse_quotes_that_do_not_close_or_close_within_a_word) {
    for (const char* line : {R"(")", R"(')", R"("abc)", R"('abc)", R"("abc\")", R"('abc\')", R"("abc\)", R"("a"b)",
                             R"('a'b)", R"("a""b")", R"(x "a)"})
        EXPECT_FALSE(split(line)) << line;
}

TEST(InlineWords, take_their_text_from_one_buffer_that_is_used_again) {
    std::string text;
    std::vector<std::string_view> words;
    const std::string line = "one '" + std::string(1000, 'x') + "' three";
    ASSERT_TRUE(split_inline(line, text, words));
    const char* const buffer = text.data();
    ASSERT_TRUE(split_inline("a b", text, words));
    EXPECT_EQ(text.data(), buffer);
    EXPECT_EQ(words, (std::vector<std::string_view>{"a", "b"}));
}

}  // namespace
}  // namespace holdfast::codec::resp
