#include "base/json_writer.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(JsonWriter, puts_commas_where_they_belong) {
    std::string text;
    JsonWriter json(text);
    json.open_object()
        .field("a", "x")
        .key("b")
        .open_array()
        .number(std::int64_t{-1})
        .null()
        .open_object()
        .close_object();
    json.close_array().flag("c", true).key("d").open_array().close_array().close_object();
    EXPECT_EQ(text, R"({"a":"x","b":[-1,null,{}],"c":true,"d":[]})");
}

TEST(JsonWriter, escapes_what_json_must_and_a_terminal_should_not_see) {
    std::string text;
    JsonWriter(text).text("\"\\/\b\t\n\f\r\x01\x1f\x7f\xc2\x9b é");
    EXPECT_EQ(text, R"("\"\\/\b\t\n\f\r\u0001\u001f\u007f\u009b é")");
}

}  // namespace
}  // namespace holdfast
