#include "discovery/identity/identity.h"

#include <gtest/gtest.h>

#include "base/encodings.h"
#include "base/random.h"

namespace holdfast::discovery::identity {
namespace {

struct Vector {
    const char* public_key;
    const char* message;
    const char* signature;
};
// RFC 8032, 7.1: tests 1 to 3 and that of SHA(abc).
constexpr Vector vectors[] = {
    {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141"
     "438e7a100b"},
    {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d29"
     "1612bb0c00"},
    {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc"
     "027be"
     "ceea1ec40a"},
    {"ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2"
     "a9ac9"
     "4fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad"
     "9bef1"
     "177331a704"},
};

TEST(Verifier, agrees_with_the_vectors_of_rfc_8032) {
    for (const Vector& vector : vectors) {
        const auto verifier = Verifier::of(*from_hex(vector.public_key));
        ASSERT_TRUE(verifier);
        const std::string message = *from_hex(vector.message);
        const std::string signature = *from_hex(vector.signature);
        EXPECT_TRUE(verifier->verify("", message, signature));
        EXPECT_TRUE(verifier->verify(message, "", signature))
            << "what is signed is the purpose followed by the content";
        EXPECT_FALSE(verifier->verify("", message + "x", signature));
        EXPECT_FALSE(verifier->verify("x", message, signature));
    }
}

TEST(Verifier, refuses_a_signature_with_any_bit_changed_or_of_another_length) {
    const Identity identity = Identity::generate();
    const auto verifier = Verifier::of(identity.public_key());
    const std::string signature = identity.sign(update_purpose, "content");
    ASSERT_EQ(signature.size(), signature_bytes);
    ASSERT_TRUE(verifier->verify(update_purpose, "content", signature));
    for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
        std::string changed = signature;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        EXPECT_FALSE(verifier->verify(update_purpose, "content", changed)) << bit;
    }
    EXPECT_FALSE(verifier->verify(update_purpose, "content", signature.substr(1)));
    EXPECT_FALSE(verifier->verify(update_purpose, "content", signature + "x"));
    EXPECT_FALSE(verifier->verify(update_purpose, "content", ""));
}

TEST(Verifier, refuses_what_somebody_else_signed) {
    const Identity identity = Identity::generate();
    const Identity other = Identity::generate();
    EXPECT_FALSE(Verifier::of(identity.public_key())->verify("p", "c", other.sign("p", "c")));
}

TEST(Verifier, is_made_of_points_of_the_curve_only) {
    EXPECT_FALSE(Verifier::of(""));
    EXPECT_FALSE(Verifier::of(std::string(31, 'x')));
    EXPECT_FALSE(Verifier::of(std::string(33, 'x')));
    // About half of all numbers are the y of some point.
    Random random{7};
    int points = 0;
    for (int i = 0; i < 200; ++i) {
        std::string bytes;
        while (bytes.size() < public_key_bytes)
            bytes += static_cast<char>(random.next());
        points += Verifier::of(bytes) ? 1 : 0;
    }
    EXPECT_GT(points, 60);
    EXPECT_LT(points, 140);
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(Verifier::of(Identity::generate().public_key()));
}

TEST(Verifier, takes_no_point_of_small_order_and_no_number_beyond_the_field) {
    const char* refused[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",  // of order 4
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",  // the neutral one
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // of order 2
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",  // of order 8
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // p itself
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // p + 3
    };
    for (const char* point : refused)
        EXPECT_FALSE(is_public_key_point(*from_hex(point))) << point;
}

TEST(IdentityId, is_the_truncated_hmac_of_the_public_key_in_base32) {
    // As `openssl dgst -sha256 -hmac 'holdfast identity v1'` and `base32` say of the key of the first vector.
    EXPECT_EQ(identity_id(*from_hex(vectors[0].public_key)), "uwtlpvdlittldzc6iowmni223soz2yui");
    const Identity identity = Identity::generate();
    EXPECT_EQ(identity.id(), identity_id(identity.public_key()));
    EXPECT_EQ(identity.id(), Verifier::of(identity.public_key())->id());
    EXPECT_NE(identity.id(), Identity::generate().id());
}

TEST(IdentityId, has_a_form_that_can_be_told) {
    EXPECT_TRUE(is_identity_id(Identity::generate().id()));
    for (const std::string& text : {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'A'),
                                    std::string(32, '1'), std::string(31, 'a') + "8"})
        EXPECT_FALSE(is_identity_id(text)) << text;
}

}  // namespace
}  // namespace holdfast::discovery::identity
