#include "base/lines.h"

#include <gtest/gtest.h>
#include <vector>

namespace holdfast {
namespace {

struct Seen {
    std::vector<std::string> lines;
    int too_long = 0;

    void feed(LineSplitter& from, std::string_view bytes) {
        EXPECT_TRUE(from.feed(
            bytes, [this](std::string_view line) { return take(line); }, [this] { ++too_long; }));
    }
    void finish(LineSplitter& from) {
        from.finish([this](std::string_view line) { return take(line); });
    }
    bool take(std::string_view line) {
        lines.emplace_back(line);
        return true;
    }
};

TEST(LineSplitter, come_whole_however_the_pieces_arrive) {
    const std::string text = "one\r\n\ntwo\nthree";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        LineSplitter lines;
        Seen seen;
        for (std::size_t at = 0; at < text.size(); at += size)
            seen.feed(lines, std::string_view(text).substr(at, size));
        EXPECT_EQ(seen.lines, (std::vector<std::string>{"one", "", "two"}));
        seen.finish(lines);
        EXPECT_EQ(seen.lines.back(), "three");
    }
}

TEST(LineSplitter, go_on_after_one_that_is_too_long) {
    LineSplitter lines;
    Seen seen;
    const std::string fits(LineSplitter::max_line, 'x');
    seen.feed(lines, fits + "\n");
    EXPECT_EQ(seen.lines, std::vector<std::string>{fits});
    seen.feed(lines, fits);
    EXPECT_EQ(seen.too_long, 0);
    for (int i = 0; i < 100; ++i)
        seen.feed(lines, fits);
    EXPECT_EQ(seen.too_long, 1) << "told once";
    seen.feed(lines, "tail\nnext\n");
    EXPECT_EQ(seen.lines.back(), "next");
    EXPECT_EQ(seen.lines.size(), 2U);
    seen.feed(lines, fits + "x");
    seen.finish(lines);
    EXPECT_EQ(seen.too_long, 2);
    EXPECT_EQ(seen.lines.size(), 2U);
}

TEST(LineSplitter, ends_with_the_line_that_its_reader_wants_to_be_the_last) {
    LineSplitter lines;
    int seen = 0;
    EXPECT_FALSE(lines.feed(
        "one\ntwo\nthree\n", [&](std::string_view) { return ++seen < 2; }, [] {}));
    EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace holdfast
