#include "base/json.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

std::string round_trip(std::string_view text) {
    auto value = read_json_object(text);
    return value ? to_text(*value) : value.error().code;
}

TEST(JsonValue, comes_back_compact_and_otherwise_unchanged) {
    EXPECT_EQ(round_trip(" { \"a\" : [ 1 , -2.50, 1E5, true, false, null, {} , [] ] } "),
              "{\"a\":[1,-2.50,1E5,true,false,null,{},[]]}");
    EXPECT_EQ(round_trip(R"({"n":123456789012345678901234567890,"s":"\u00e9\ud83d\ude00\"\\\/\t"})"),
              "{\"n\":123456789012345678901234567890,\"s\":\"é😀\\\"\\\\/\\u0009\"}");
    EXPECT_EQ(round_trip(""), "{}");
}

TEST(JsonValue, is_an_object_without_repeated_keys) {
    for (const char* text : {"[1]", "1", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{\"x\":{\"a\":1,\"a\":2}}",
                             "{}x", "{\"a\":\"\\ud800\"}", "{\"a\"}", "\n"})
        EXPECT_EQ(round_trip(text), "invalid_json") << text;
}

TEST(JsonValue, tells_whole_numbers_from_others) {
    auto value = read_json_object(R"({"a":18446744073709551615,"b":18446744073709551616,"c":1.0,"d":-1,"e":0})");
    ASSERT_TRUE(value);
    EXPECT_TRUE(value->find("a")->whole);
    EXPECT_EQ(value->find("a")->number, 18446744073709551615U);
    EXPECT_FALSE(value->find("b")->whole);
    EXPECT_FALSE(value->find("c")->whole);
    EXPECT_FALSE(value->find("d")->whole);
    EXPECT_TRUE(value->find("e")->whole);
    EXPECT_EQ(value->find("f"), nullptr);
}

TEST(JsonValue, is_refused_beyond_its_limits) {
    EXPECT_TRUE(read_json_object(R"({"a":[1,2]})", {.depth = 2, .values = 4}));
    EXPECT_EQ(read_json_object(R"({"a":[1,2]})", {.depth = 2, .values = 3}).error().code, "invalid_json");
    EXPECT_EQ(read_json_object(R"({"a":[[]]})", {.depth = 2, .values = 4}).error().code, "invalid_json");
}

}  // namespace
}  // namespace holdfast
