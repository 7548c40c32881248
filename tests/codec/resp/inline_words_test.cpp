#include "codec/resp/inline_words.h"

#include <gtest/gtest.h>
#include <optional>

namespace holdfast::resp {
namespace {

using Words = std::vector<std::string>;

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
}  // namespace holdfast::resp
