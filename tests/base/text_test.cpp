#include "base/text.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Utf8, accepts_what_is_well_formed) {
    for (const char* text : {"", "plain", "größe", "漢字", "🔒", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(text)) << text;
}

TEST(Utf8, refuses_overlong_forms_surrogates_stray_bytes_and_cut_sequences) {
    for (const char* text : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3", "\xe6\xbc", "\xf0\x9f\x94"})
        EXPECT_FALSE(is_utf8(text));
}

TEST(Numbers, are_whole_unsigned_and_fit) {
    EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
    for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x10", "18446744073709551616"})
        EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Durations, are_read_as_people_write_them) {
    EXPECT_EQ(*parse_duration("1500ms"), 1500ms);
    EXPECT_EQ(*parse_duration("30s"), 30s);
    EXPECT_EQ(*parse_duration("1.5s"), 1500ms);
    EXPECT_EQ(*parse_duration("5m"), 5min);
    EXPECT_EQ(*parse_duration("2h"), 2h);
    EXPECT_EQ(*parse_duration("60"), 60s);
    EXPECT_EQ(*parse_duration("0"), 0s);
    for (const char* text : {"", "s", "-1s", "1d", "1 s", "nan", "inf", "1e3s", "99999999999999h"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Durations, are_shown_short) {
    EXPECT_EQ(format_duration(950ms), "950ms");
    EXPECT_EQ(format_duration(4250ms), "4.2s");
    EXPECT_EQ(format_duration(65s), "1m05s");
    EXPECT_EQ(format_duration(2h + 3min), "2h03m");
    EXPECT_EQ(format_duration(-65s), "-1m05s");
}

TEST(Milliseconds, are_rounded_the_safe_way) {
    EXPECT_EQ(to_ms(1999us), 1);
    EXPECT_EQ(to_ms_up(1001us), 2);
    EXPECT_EQ(to_ms_up(1ns), 1);
    EXPECT_EQ(to_ms_up(2ms), 2);
}

TEST(WallTime, is_shown_in_utc_to_the_millisecond) {
    EXPECT_EQ(format_wall_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(format_wall_time(1'763'208'000'123), "2025-11-15T12:00:00.123Z");
}

TEST(PercentEncoding, brings_every_byte_back) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte)
        all += static_cast<char>(byte);
    EXPECT_EQ(percent_decode(percent_encode(all)), all);
    EXPECT_EQ(percent_encode("FILE:/a b#1"), "FILE%3A%2Fa%20b%231");
    for (const char* text : {"%", "%1", "%zz", "a%2"})
        EXPECT_FALSE(percent_decode(text)) << text;
}

}  // namespace
}  // namespace holdfast
