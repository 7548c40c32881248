#include "codec/resp/resp_value.h"

#include <gtest/gtest.h>

#include "codec/resp/reading.h"

namespace holdfast::codec::resp {
namespace {

using Type = Value::Type;

Value text(std::string of) {
    return {Type::text, std::move(of)};
}
Value integer(std::int64_t of) {
    return {Type::integer, {}, of};
}

std::string nested(std::size_t depth) {
    std::string input;
    for (std::size_t i = 0; i < depth; ++i)
        input += "*1\r\n";
    return input + ":1\r\n";
}

TEST(ValueReader, reads_each_type) {
    struct {
        std::string_view input;
        Value value;
    } const rows[] = {
        {"+OK\r\n", {Type::status, "OK"}},
        {"+\r\n", {Type::status, ""}},
        {"-ERR no\r\n", {Type::error, "ERR no"}},
        {":-42\r\n", integer(-42)},
        {":+42\r\n", integer(42)},
        {"$2\r\nhi\r\n", text("hi")},
        {"$0\r\n\r\n", text("")},
        {"$4\r\na\r\nb\r\n", text("a\r\nb")},
        {"$-1\r\n", {}},
        {"*-1\r\n", {}},
        {"_\r\n", {}},
        {"#t\r\n", {Type::boolean, {}, 1}},
        {"#f\r\n", {Type::boolean, {}, 0}},
        {",3.25\r\n", {Type::real, "3.25"}},
        {",-inf\r\n", {Type::real, "-inf"}},
        {",1e400\r\n", {Type::real, "1e400"}},
        {"(-3492890328409238509324850943850943825024385\r\n",
         {Type::big_number, "-3492890328409238509324850943850943825024385"}},
        {"=6\r\ntxt:hi\r\n", text("hi")},
        {"!8\r\nERR a\r\nb\r\n", {Type::error, "ERR a\r\nb"}},
        {"*0\r\n", {Type::array}},
        {"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", {Type::array, {}, 0, {integer(1), {Type::array, {}, 0, {text("x")}}}}},
        {"%1\r\n+k\r\n:1\r\n", {Type::map, {}, 0, {{Type::status, "k"}, integer(1)}}},
        {"~1\r\n:1\r\n", {Type::set, {}, 0, {integer(1)}}},
        {">1\r\n:1\r\n", {Type::push, {}, 0, {integer(1)}}},
    };
    for (const auto& row : rows) {
        const auto reading = read_at_once<ValueReader>(row.input);
        EXPECT_EQ(reading.items, std::vector{row.value}) << row.input << reading.error;
        EXPECT_EQ(reading.used, row.input.size());
        EXPECT_EQ(reading, read_bytewise<ValueReader>(row.input)) << row.input;
    }
}

TEST(ValueReader, skips_attributes_wherever_they_are) {
    const auto reading = read_at_once<ValueReader>(
        "|1\r\n+ttl\r\n:3\r\n*2\r\n|2\r\n+a\r\n*1\r\n:9\r\n+b\r\n|0\r\n_\r\n:1\r\n|0\r\n:2\r\n+next\r\n");
    EXPECT_EQ(reading.error, "");
    EXPECT_EQ(reading.items,
              (std::vector<Value>{{Type::array, {}, 0, {integer(1), integer(2)}}, {Type::status, "next"}}));
}

TEST(ValueReader, refuses_what_is_malformed_whole_or_in_pieces) {
    for (const std::string_view input : {"\r\n",
                                         "\n",
                                         "x\r\n",
                                         "+OK\n",
                                         ":\r\n",
                                         ":x\r\n",
                                         ":1.0\r\n",
                                         ":+-1\r\n",
                                         ":99999999999999999999\r\n",
                                         "#x\r\n",
                                         "#\r\n",
                                         "_x\r\n",
                                         ",x\r\n",
                                         ",\r\n",
                                         ",1.0x\r\n",
                                         "(\r\n",
                                         "(12a\r\n",
                                         "(-\r\n",
                                         "$x\r\n",
                                         "$\r\n",
                                         "$-2\r\n",
                                         "$1\r\nxyz",
                                         "$?\r\n",
                                         "*?\r\n",
                                         "*x\r\n",
                                         "*-2\r\n",
                                         "%-1\r\n",
                                         "~-1\r\n",
                                         ">-1\r\n",
                                         "|-1\r\n",
                                         "=-1\r\n",
                                         "!-1\r\n",
                                         "=3\r\ntxt\r\n",
                                         "=4\r\ntxt,\r\n",
                                         "*1\r\n*1\r\n?\r\n",
                                         "$67108865\r\n",
                                         "*1048577\r\n"}) {
        const auto reading = read_at_once<ValueReader>(input);
        EXPECT_NE(reading.error, "") << input;
        EXPECT_EQ(reading, read_bytewise<ValueReader>(input)) << input;
    }
}

TEST(ValueReader, bounds_the_depth) {
    EXPECT_EQ(read_at_once<ValueReader>(nested(max_value_depth)).items.size(), 1u);
    EXPECT_EQ(read_at_once<ValueReader>(nested(max_value_depth + 1)).error, "the reply is too deep");
}

TEST(ValueReader, bounds_the_parts) {
    std::string input = "*1048575\r\n";
    for (std::size_t i = 0; i < max_value_items - 1; ++i)
        input += "_\r\n";
    EXPECT_EQ(read_at_once<ValueReader>(input).items.size(), 1u);
    EXPECT_EQ(read_at_once<ValueReader>("*1\r\n" + input).error, "the reply has too many parts");
}

TEST(ValueReader, bounds_the_bytes_of_one_reply_not_of_many) {
    const std::string line = "+" + std::string(max_value_bytes - 3, 'x') + "\r\n";
    ValueReader reader;
    ASSERT_EQ(reader.read(line + ":1\r\n"), ValueReader::Outcome::value);
    EXPECT_EQ(reader.size(), max_value_bytes);
    EXPECT_EQ(reader.read("+x" + line.substr(1)), ValueReader::Outcome::malformed);
    EXPECT_EQ(reader.error(), "the reply is too large");
    EXPECT_EQ(reader.read("$67108864\r\n"), ValueReader::Outcome::malformed);
}

// Were the line looked through from its start with each byte, this would take minutes.
TEST(ValueReader, takes_a_long_line_byte_by_byte) {
    const std::string line = "+" + std::string(4 << 20, 'x') + "\r\n";
    ValueReader reader;
    for (std::size_t shown = 0; shown < line.size(); ++shown)
        ASSERT_EQ(reader.read(std::string_view(line).substr(0, shown)), ValueReader::Outcome::more);
    EXPECT_EQ(reader.read(line), ValueReader::Outcome::value);
}

TEST(ValueReader, gives_its_value_away) {
    ValueReader reader;
    ASSERT_EQ(reader.read("$2\r\nhi\r\n"), ValueReader::Outcome::value);
    const Value taken = std::move(reader.value());
    ASSERT_EQ(reader.read("*0\r\n"), ValueReader::Outcome::value);
    EXPECT_EQ(taken, text("hi"));
    EXPECT_EQ(reader.value(), (Value{Type::array}));
}

}  // namespace
}  // namespace holdfast::codec::resp
