#include "base/json_fields.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

JsonValue parsed(std::string_view text) {
    auto value = read_json_object(text);
    EXPECT_TRUE(value) << text;
    return value ? std::move(*value) : JsonValue{};
}

TEST(JsonFields, are_optional_unless_needed) {
    const JsonValue value = parsed(R"({"a": "x", "n": 7, "null": null})");
    JsonFields fields(value);
    EXPECT_EQ(fields.text("a"), "x");
    EXPECT_EQ(fields.text("b"), std::nullopt);
    EXPECT_EQ(fields.need_whole("n", 0, 9), 7U);
    EXPECT_EQ(fields.whole_or_null("null", 1, 9), 0U);
    EXPECT_EQ(fields.plain_text("c", 3), "");
    EXPECT_TRUE(fields.is_null("d"));
    EXPECT_EQ(fields.need_milliseconds("n"), 7ms);
    EXPECT_EQ(fields.need_signed_whole("n", 9), 7);
    EXPECT_FALSE(fields.error());
    EXPECT_EQ(fields.need_text("b"), "");
    EXPECT_EQ(fields.error()->message, "b is missing");
}

TEST(JsonFields, name_the_path_of_the_first_mistake) {
    const auto mistake = [](std::string_view text, auto read) {
        const JsonValue value = parsed(text);
        JsonFields fields(value, "spawn.");
        read(fields);
        return fields.error() ? fields.error()->message : "none";
    };
    EXPECT_EQ(mistake(R"({"a": 1})", [](JsonFields& fields) { fields.text("a"); }), "spawn.a must be text");
    EXPECT_EQ(mistake(R"({"a": 1.5})", [](JsonFields& fields) { fields.whole("a", 0, 3); }),
              "spawn.a must be a whole number from 0 to 3");
    EXPECT_EQ(mistake(R"({"a": -4})", [](JsonFields& fields) { fields.signed_whole("a", 3); }),
              "spawn.a must be a whole number from -3 to 3");
    EXPECT_EQ(mistake(R"({"a": "long"})", [](JsonFields& fields) { fields.plain_text("a", 3); }),
              "spawn.a is longer than 3 bytes");
    EXPECT_EQ(mistake(R"({"a": [1, 2]})", [](JsonFields& fields) { fields.array("a", 1); }),
              "spawn.a may have at most 1 entries");
    EXPECT_EQ(mistake(R"({"a": 1, "b": 2})",
                      [](JsonFields& fields) {
                          fields.boolean("b");
                          fields.text("a");
                      }),
              "spawn.b must be true or false");
}

TEST(JsonFields, refuse_a_field_that_was_not_read_before_any_mistake) {
    const JsonValue value = parsed(R"({"nmae": "x", "n": "no number"})");
    JsonFields fields(value, "key.");
    fields.need_text("name");
    fields.whole("n", 0, 1);
    EXPECT_EQ(fields.error()->code, Code::unknown_field);
    EXPECT_EQ(fields.error()->message, "this route does not know the field key.nmae");
    EXPECT_EQ(fields.mistake()->message, "key.name is missing");
}

TEST(JsonFields, refuse_more_fields_than_any_object_has) {
    std::string text = "{";
    for (int i = 0; i < 70; ++i)
        text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
    const JsonValue value = parsed(text + "}");
    JsonFields fields(value);
    for (int i = 0; i < 70; ++i)
        EXPECT_EQ(fields.whole(std::to_string(i), 0, 1), 1U);
    EXPECT_EQ(fields.error()->message, "this route does not know the field 64");
}

TEST(JsonFields, pass_the_mistakes_of_their_parts_on) {
    const JsonValue value = parsed(R"({"list": [{"key": {"n": 1}}, {"key": {"n": "x"}}, {}, 5]})");
    JsonFields fields(value);
    std::vector<std::uint64_t> numbers;
    for (JsonFields& entry : fields.need_objects("list")) {
        JsonFields key = entry.need_object("key");
        numbers.push_back(key.need_whole("n", 0, 9));
    }
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 0, 0, 0}));
    EXPECT_EQ(fields.mistake()->message, "list[3] must be an object");
}

TEST(JsonFields, of_what_is_no_object_are_missing) {
    const JsonValue nothing;
    JsonFields fields(nothing);
    EXPECT_FALSE(fields.has("a"));
    EXPECT_FALSE(fields.error());
    JsonFields part = fields.need_object("a");
    part.need_objects("b");
    EXPECT_EQ(fields.mistake()->message, "a is missing");
}

}  // namespace
}  // namespace holdfast
