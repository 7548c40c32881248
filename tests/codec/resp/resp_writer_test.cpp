#include "codec/resp/resp_writer.h"

#include <functional>
#include <gtest/gtest.h>

namespace holdfast::codec::resp {
namespace {

std::string written(Protocol protocol, const std::function<void(ReplyWriter&)>& write) {
    std::string out;
    ReplyWriter writer(out, protocol);
    write(writer);
    return out;
}

TEST(ReplyWriter, writes_each_type_in_either_protocol) {
    struct {
        std::function<void(ReplyWriter&)> write;
        std::string_view resp2, resp3;
    } const rows[] = {
        {[](ReplyWriter& to) { to.simple("OK"); }, "+OK\r\n", "+OK\r\n"},
        {[](ReplyWriter& to) { to.error("ERR", "no such thing"); }, "-ERR no such thing\r\n", "-ERR no such thing\r\n"},
        {[](ReplyWriter& to) { to.integer(-42); }, ":-42\r\n", ":-42\r\n"},
        {[](ReplyWriter& to) { to.integer(INT64_MIN); }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
        {[](ReplyWriter& to) { to.bulk("a\r\nb"); }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
        {[](ReplyWriter& to) { to.bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
        {[](ReplyWriter& to) { to.null(); }, "$-1\r\n", "_\r\n"},
        {[](ReplyWriter& to) { to.null_array(); }, "*-1\r\n", "_\r\n"},
        {[](ReplyWriter& to) { to.boolean(true); }, ":1\r\n", "#t\r\n"},
        {[](ReplyWriter& to) { to.boolean(false); }, ":0\r\n", "#f\r\n"},
        {[](ReplyWriter& to) { to.array(3); }, "*3\r\n", "*3\r\n"},
        {[](ReplyWriter& to) { to.map(3); }, "*6\r\n", "%3\r\n"},
        {[](ReplyWriter& to) { to.push(3); }, "*3\r\n", ">3\r\n"},
        {[](ReplyWriter& to) { to.raw("*1\r\n:1\r\n"); }, "*1\r\n:1\r\n", "*1\r\n:1\r\n"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(written(Protocol::resp2, row.write), row.resp2);
        EXPECT_EQ(written(Protocol::resp3, row.write), row.resp3);
    }
}

TEST(ReplyWriter, keeps_a_line_on_one_line) {
    EXPECT_EQ(written(Protocol::resp2, [](ReplyWriter& to) { to.simple("a\r\nb"); }), "+a  b\r\n");
    EXPECT_EQ(written(Protocol::resp2, [](ReplyWriter& to) { to.error("ERR", "got '\n'\r\n+OK"); }),
              "-ERR got ' '  +OK\r\n");
}

TEST(ReplyWriter, escapes_in_an_error_what_steers_a_terminal) {
    EXPECT_EQ(written(Protocol::resp2, [](ReplyWriter& to) { to.error("ERR", "\x1b[31m \u202e \u009b \xff é"); }),
              "-ERR \\x1b[31m \\u202e \\u009b \\xff é\r\n");
}

TEST(ReplyWriter, writes_behind_what_is_there) {
    std::string out = "+OK\r\n";
    ReplyWriter(out, Protocol::resp2).simple("a\nb");
    EXPECT_EQ(out, "+OK\r\n+a b\r\n");
}

}  // namespace
}  // namespace holdfast::codec::resp
