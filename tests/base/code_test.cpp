#include "base/code.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

namespace holdfast {
namespace {

std::string api_docs() {
    const char* source = std::getenv("HOLDFAST_SOURCE");
    std::ifstream file(std::string(source != nullptr ? source : ".") + "/docs/http-api.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Codes, have_distinct_names_and_those_of_a_server_say_what_to_do) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < code_count; ++i) {
        const auto code = static_cast<Code>(i);
        EXPECT_TRUE(names.insert(name_of(code)).second) << name_of(code);
        EXPECT_EQ(code_in(name_of(code)), code);
        if (is_answer_code(code)) {
            EXPECT_GT(advice_of(code).size(), 10U) << name_of(code);
        }
    }
}

TEST(Codes, that_a_server_answers_with_are_all_listed_in_the_docs) {
    const std::string docs = api_docs();
    ASSERT_FALSE(docs.empty());
    for (std::size_t i = 0; i < answer_code_count; ++i) {
        const std::string quoted = "`" + std::string(name_of(static_cast<Code>(i))) + "`";
        EXPECT_NE(docs.find(quoted), std::string::npos) << quoted << " is missing in docs/http-api.md";
    }
}

// No misspelt text is a code: a literal neither makes one nor compares with one.
static_assert(!std::is_convertible_v<const char*, ErrorCode> && !std::is_constructible_v<ErrorCode, const char*> &&
              !std::is_constructible_v<ErrorCode, std::string>);
template <class Text>
constexpr bool compares_with_a_code = requires(const ErrorCode& code, const Text& text) {
    code == text;
};
static_assert(compares_with_a_code<Code> && !compares_with_a_code<const char*> && !compares_with_a_code<std::string>);

TEST(ErrorCodes, are_codes_by_name) {
    for (std::size_t i = 0; i < code_count; ++i) {
        const auto code = static_cast<Code>(i);
        EXPECT_EQ(ErrorCode(code).name(), name_of(code));
        EXPECT_EQ(ErrorCode(code).known(), code);
        EXPECT_EQ(ErrorCode::named(name_of(code)), code);
    }
    EXPECT_NE(ErrorCode(Code::busy), Code::die);
    EXPECT_NE(ErrorCode(Code::busy), ErrorCode{});
}

TEST(ErrorCodes, keep_the_name_that_only_a_newer_peer_knows) {
    const ErrorCode code = ErrorCode::named("of_a_later_version");
    EXPECT_EQ(code.name(), "of_a_later_version");
    EXPECT_EQ(code.known(), std::nullopt);
    EXPECT_EQ(code, ErrorCode::named("of_a_later_version"));
    EXPECT_NE(code, ErrorCode::named("of_another"));
    EXPECT_NE(code, Code::busy);
    EXPECT_EQ(ErrorCode::named(""), ErrorCode{});
    EXPECT_EQ(testing::PrintToString(code), "of_a_later_version");
}

TEST(ErrorCodes, cut_a_long_name_between_two_characters) {
    EXPECT_EQ(ErrorCode::named(std::string(64, 'x')).name(), std::string(64, 'x'));
    EXPECT_EQ(ErrorCode::named(std::string(10'000, 'x')).name(), std::string(64, 'x'));
    EXPECT_EQ(ErrorCode::named(std::string(63, 'x') + "\u00e9").name(), std::string(63, 'x'));
    EXPECT_EQ(ErrorCode::named(std::string(62, 'x') + "\u00e9!").name(), std::string(62, 'x') + "\u00e9");
}

}  // namespace
}  // namespace holdfast
