#include "codec/resp/resp_number.h"

#include <gtest/gtest.h>

namespace holdfast::codec::resp {
namespace {

TEST(RespNumber, is_read_as_redis_reads_it) {
    EXPECT_EQ(parse_integer("0"), 0);
    EXPECT_EQ(parse_integer("30000"), 30000);
    EXPECT_EQ(parse_integer("-1"), -1);
    EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(parse_integer("-9223372036854775808"), INT64_MIN);
}

TEST(RespNumber, is_nothing_else_that_looks_like_one) {
    for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "01", "-0", "-01", "00", "1e3",
                             "9223372036854775808", "-9223372036854775809", "99999999999999999999"})
        EXPECT_FALSE(parse_integer(text)) << text;
}

TEST(RespNumber, is_announced_on_a_line_of_its_own) {
    std::string out;
    append_header(out, '*', std::uint64_t{3});
    append_header(out, ':', INT64_MIN);
    append_header(out, '$', UINT64_MAX);
    EXPECT_EQ(out, "*3\r\n:-9223372036854775808\r\n$18446744073709551615\r\n");
}

}  // namespace
}  // namespace holdfast::codec::resp
