#include "base/encodings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace holdfast {
namespace {

TEST(Base32, is_as_rfc_4648_has_it_in_lower_case_without_padding) {
    EXPECT_EQ(to_base32(""), "");
    EXPECT_EQ(to_base32("f"), "my");
    EXPECT_EQ(to_base32("fo"), "mzxq");
    EXPECT_EQ(to_base32("foo"), "mzxw6");
    EXPECT_EQ(to_base32("foob"), "mzxw6yq");
    EXPECT_EQ(to_base32("fooba"), "mzxw6ytb");
    EXPECT_EQ(to_base32("foobar"), "mzxw6ytboi");
    EXPECT_EQ(to_base32(std::string(20, '\xff')), std::string(32, '7'));
}

TEST(Base64url, is_as_rfc_4648_has_it_without_padding) {
    EXPECT_EQ(to_base64url(""), "");
    EXPECT_EQ(to_base64url("f"), "Zg");
    EXPECT_EQ(to_base64url("fo"), "Zm8");
    EXPECT_EQ(to_base64url("foo"), "Zm9v");
    EXPECT_EQ(to_base64url("foobar"), "Zm9vYmFy");
    EXPECT_EQ(to_base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64url, refuses_what_no_bytes_are_written_as) {
    for (const char* text : {"Z", "Zm9vY", "Zg==", "Zh", "Zm9", "Zm9+", "Zm9/", "Zm 9", "Zg\n"})
        EXPECT_FALSE(from_base64url(text)) << text;
}

TEST(Hex, is_read_in_either_case_and_written_in_lower_case) {
    EXPECT_EQ(to_hex(std::string("\x00\x9a\xff", 3)), "009aff");
    EXPECT_EQ(from_hex("009aFF"), std::string("\x00\x9a\xff", 3));
    for (const char* text : {"0", "0g", "0x", " 0", "000"})
        EXPECT_FALSE(from_hex(text)) << text;
}

RC_GTEST_PROP(Encodings, bring_back_any_bytes, (const std::string& bytes)) {
    RC_ASSERT(from_base64url(to_base64url(bytes)) == bytes);
    RC_ASSERT(from_hex(to_hex(bytes)) == bytes);
}

RC_GTEST_PROP(Encodings, have_one_text_for_the_same_bytes, (const std::string& text)) {
    if (const auto bytes = from_base64url(text)) RC_ASSERT(to_base64url(*bytes) == text);
}

}  // namespace
}  // namespace holdfast
