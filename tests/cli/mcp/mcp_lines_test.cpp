#include "cli/mcp/mcp_lines.h"

#include <gtest/gtest.h>
#include <vector>

namespace holdfast::cli::mcp {
namespace {

struct Seen {
    std::vector<std::string> lines;
    int too_long = 0;

    void feed(McpLines& from, std::string_view bytes) {
        from.feed(
            bytes, [this](std::string_view line) { lines.emplace_back(line); }, [this] { ++too_long; });
    }
    void finish(McpLines& from) {
        from.finish([this](std::string_view line) { lines.emplace_back(line); });
    }
};

TEST(McpLines, come_whole_however_the_pieces_arrive) {
    const std::string text = "one\r\n\ntwo\nthree";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        McpLines lines;
        Seen seen;
        for (std::size_t at = 0; at < text.size(); at += size)
            seen.feed(lines, std::string_view(text).substr(at, size));
        EXPECT_EQ(seen.lines, (std::vector<std::string>{"one", "", "two"}));
        seen.finish(lines);
        EXPECT_EQ(seen.lines.back(), "three");
    }
}

TEST(McpLines, go_on_after_one_that_is_too_long) {
    McpLines lines;
    Seen seen;
    const std::string fits(McpLines::max_line, 'x');
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

}  // namespace
}  // namespace holdfast::cli::mcp
