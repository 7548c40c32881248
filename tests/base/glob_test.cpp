#include "base/glob.h"

#include <gtest/gtest.h>
#include <string>

namespace holdfast {
namespace {

struct GlobCase {
    const char* pattern;
    const char* text;
    bool matches;
};

TEST(Glob, matches_as_redis_does) {
    // tests/e2e/compat asks a real Redis much the same with KEYS and SCAN.
    for (const GlobCase& c : {GlobCase{"*", "", true},
                              {"*", "any", true},
                              {"", "", true},
                              {"", "a", false},
                              {"a", "a", true},
                              {"a", "b", false},
                              {"a", "ab", false},
                              {"a?c", "abc", true},
                              {"a?c", "ac", false},
                              {"a*c", "ac", true},
                              {"a*c", "abbbc", true},
                              {"a*c", "abbbd", false},
                              {"*b*", "abc", true},
                              {"**", "abc", true},
                              {"*a*b*c", "xxaxxbxxc", true},
                              {"[abc]", "b", true},
                              {"[abc]", "d", false},
                              {"[^abc]", "d", true},
                              {"[^abc]", "a", false},
                              {"[a-c]x", "bx", true},
                              {"[c-a]x", "bx", true},
                              {"[a-c]x", "dx", false},
                              {"[\\]]", "]", true},
                              {"[\\-a]", "-", true},
                              {"\\*", "*", true},
                              {"\\*", "a", false},
                              {"\\[a]", "[a]", true},
                              {"a\\", "a\\", true},
                              {"[abc", "c", true},
                              {"[abc", "d", false},
                              {"poll:lease:*", "poll:lease:42", true},
                              {"poll:lease:*", "poll:node:42", false}})
        EXPECT_EQ(glob_matches(c.pattern, c.text), c.matches) << c.pattern << " of " << c.text;
}

TEST(Glob, takes_bytes_above_127_as_bytes) {
    EXPECT_TRUE(glob_matches("[\x80-\xff]", "\xc3"));
    EXPECT_FALSE(glob_matches("?", "\xc3\xa9")) << "an accented letter is two bytes";
}

TEST(Glob, reads_a_run_of_stars_once) {
    const std::string stars(250, '*');
    for (const auto& [pattern, most] : {std::pair{stars, 251U}, {stars + "x", 600U}, {"l" + stars + "granted", 600U}}) {
        constexpr std::uint64_t all = 1'000'000;
        std::uint64_t steps = all;
        glob_matches(pattern, "lease:granted", steps);
        EXPECT_LE(all - steps, most) << pattern;
    }
}

TEST(Glob, gives_up_when_its_steps_are_used_up) {
    std::string pattern = "*";
    for (int i = 0; i < 100; ++i)
        pattern += "[ab]?";
    pattern += "c";
    const std::string text(4000, 'a');
    std::uint64_t steps = 100'000;
    EXPECT_FALSE(glob_matches(pattern, text, steps));
    EXPECT_EQ(steps, 0U);
    steps = 100'000;
    EXPECT_TRUE(glob_matches("*a*a*", text, steps));
    EXPECT_GT(steps, 99'000U);
}

TEST(Glob, does_not_take_forever_on_many_stars) {
    std::string pattern;
    for (int i = 0; i < 200; ++i)
        pattern += "*a";
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(4096, 'a')));
}

TEST(Glob, knows_what_every_match_starts_with) {
    EXPECT_EQ(glob_prefix("poll:lease:*"), "poll:lease:");
    EXPECT_EQ(glob_prefix("a[bc]"), "a");
    EXPECT_EQ(glob_prefix("a\\*b"), "a");
    EXPECT_EQ(glob_prefix("plain"), "plain");
    EXPECT_EQ(glob_prefix("?"), "");
}

}  // namespace
}  // namespace holdfast
