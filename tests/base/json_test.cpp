#include "base/json.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

std::string round_trip(std::string_view text) {
    auto value = read_json_object(text);
    return value ? to_text(*value) : std::string(value.error().code.name());
}

TEST(JsonValue, comes_back_compact_and_otherwise_unchanged) {
    EXPECT_EQ(round_trip(" { \"a\" : [ 1 , -2.50, 1E5, true, false, null, {} , [] ] } "),
              "{\"a\":[1,-2.50,1E5,true,false,null,{},[]]}");
    EXPECT_EQ(round_trip(R"({"n":123456789012345678901234567890,"s":"\u00e9\ud83d\ude00\"\\\/\t"})"),
              "{\"n\":123456789012345678901234567890,\"s\":\"é😀\\\"\\\\/\\t\"}");
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

TEST(JsonValue, of_any_kind_is_read) {
    for (const char* text : {"17", "-1.5", "\"a\"", "null", "true", "[1,{}]", "{\"a\":[]}"}) {
        const auto value = read_json(text);
        ASSERT_TRUE(value) << text;
        EXPECT_EQ(to_text(*value), text);
    }
    for (const char* text : {"", "nul", "1 2", "[1", "{\"a\":1,\"a\":2}"})
        EXPECT_EQ(read_json(text).error().code, Code::invalid_json) << text;
}

TEST(JsonValue, is_built_and_changed) {
    auto value = JsonValue::object({{"text", "a"},
                                    {"negative", -1},
                                    {"largest", UINT64_MAX},
                                    {"fraction", 1.5},
                                    {"flag", true},
                                    {"nothing", nullptr},
                                    {"list", JsonValue::List{1, "b"}}});
    value.set("text", std::string("c")).set("more", JsonValue::object({{"d", 2U}}));
    EXPECT_EQ(to_text(value),
              R"({"text":"c","negative":-1,"largest":18446744073709551615,"fraction":1.5,"flag":true,"nothing":null,)"
              R"("list":[1,"b"],"more":{"d":2}})");
    EXPECT_FALSE(value["negative"].whole);
    EXPECT_EQ(value["largest"].number, UINT64_MAX);
    EXPECT_EQ(to_text(JsonValue().set("a", 1)), R"({"a":1})");
}

TEST(JsonValue, has_null_for_a_member_that_is_missing) {
    const auto value = JsonValue::object({{"a", JsonValue::object({{"b", "c"}})}});
    EXPECT_EQ(value["a"]["b"].text, "c");
    EXPECT_TRUE(value["x"]["b"]["y"].is(JsonValue::Kind::null));
}

TEST(JsonValue, is_refused_beyond_its_limits) {
    EXPECT_TRUE(read_json_object(R"({"a":[1,2]})", {.depth = 2, .values = 4}));
    EXPECT_EQ(read_json_object(R"({"a":[1,2]})", {.depth = 2, .values = 3}).error().code, Code::invalid_json);
    EXPECT_EQ(read_json_object(R"({"a":[[]]})", {.depth = 2, .values = 4}).error().code, Code::invalid_json);
}

}  // namespace
}  // namespace holdfast
