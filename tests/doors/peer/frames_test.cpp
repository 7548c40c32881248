#include "doors/peer/frames.h"

#include <gtest/gtest.h>

namespace holdfast::doors::peer {
namespace {

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

/// The body of the only frame in these bytes.
std::string body_of(const std::string& bytes) {
    std::string_view rest = bytes;
    const auto body = codec::take_frame(rest, 1 << 20);
    EXPECT_TRUE(body && *body && rest.empty());
    return std::string(**body);
}

TEST(Hmac, is_the_hmac_sha256_of_the_parts_with_their_lengths) {
    // As `openssl dgst -sha256 -hmac Jefe` says of eight bytes of length and the text.
    Hmac hmac("Jefe");
    EXPECT_EQ(hex(view(hmac.of({"what do ya want for nothing?"}))),
              "f80838b2e599dfbe7a38f7a7a17809946762357529df986b87919b732a79be43");
    EXPECT_EQ(hmac.of({"a", "b"}), hmac.of({"a", "b"}));
    EXPECT_NE(hmac.of({"ab", ""}), hmac.of({"a", "b"}));
    EXPECT_NE(hmac.of({"ab"}), hmac.of({"a", "b"}));
    EXPECT_NE(Hmac("other").of({"a"}), hmac.of({"a"}));
}

TEST(Hmac, random_bytes_are_not_the_same_twice) {
    EXPECT_EQ(random_bytes(32).size(), 32U);
    EXPECT_NE(random_bytes(32), random_bytes(32));
}

TEST(SealedFrames, open_in_the_order_in_which_they_were_sealed) {
    Sealer sealer("key");
    Opener opener("key");
    for (int i = 0; i < 1000; ++i) {
        std::string bytes;
        sealer.append("content " + std::to_string(i), bytes);
        const std::string body = body_of(bytes);
        EXPECT_EQ(opener.open(body), "content " + std::to_string(i));
    }
}

TEST(SealedFrames, do_not_open_repeated_out_of_order_changed_or_under_another_key) {
    Sealer sealer("key");
    std::string first, second;
    sealer.append("first", first);
    sealer.append("second", second);
    EXPECT_FALSE(Opener("key").open(body_of(second))) << "one is left out";
    EXPECT_FALSE(Opener("other").open(body_of(first)));
    EXPECT_FALSE(Opener("key").open("short"));
    for (std::size_t at = 0; at < body_of(first).size(); ++at) {
        std::string changed = body_of(first);
        changed[at] = static_cast<char>(changed[at] ^ 1);
        EXPECT_FALSE(Opener("key").open(changed)) << at;
    }
    Opener opener("key");
    EXPECT_TRUE(opener.open(body_of(first)));
    EXPECT_FALSE(opener.open(body_of(first))) << "a frame is not taken twice";
    EXPECT_TRUE(opener.open(body_of(second))) << "and the right one still is";
}

}  // namespace
}  // namespace holdfast::doors::peer
