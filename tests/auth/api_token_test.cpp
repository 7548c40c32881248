#include "auth/api_token.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <regex>
#include <set>

#include "auth/world.h"
#include "base/code.h"
#include "base/encodings.h"

namespace holdfast::auth {
namespace {

const std::string base32_digits = "abcdefghijklmnopqrstuvwxyz234567";

std::string fault_in(std::string_view text) {
    const auto parsed = parse_api_token(text);
    if (parsed) return {};
    EXPECT_EQ(parsed.error().code, Code::unauthenticated);
    return parsed.error().message;
}

TEST(ApiToken, is_read_back_with_its_id_and_the_hash_of_its_secret) {
    const NewApiToken made = numbered_token(7);
    const auto parsed = parse_api_token(made.text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->id, made.token.id);
    EXPECT_TRUE(same_hash(parsed->hash, made.token.hash));
    EXPECT_TRUE(is_api_token_id(made.token.id));
}

TEST(ApiToken, has_the_form_that_scanners_for_secrets_are_told) {
    const std::regex form("hf_[a-z2-7]{16}_[a-z2-7]{58}");
    for (std::uint64_t i = 0; i < 50; ++i)
        EXPECT_TRUE(std::regex_match(numbered_token(i).text, form)) << numbered_token(i).text;
}

TEST(ApiToken, of_zero_bytes_is_this_one) {
    // A token that was given out must be accepted by every later version.
    const std::array<unsigned char, api_token_random_bytes> zeros{};
    const NewApiToken made = make_api_token(zeros);
    EXPECT_EQ(made.text, "hf_aaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaocgrct");
    EXPECT_EQ(to_hex({reinterpret_cast<const char*>(made.token.hash.data()), made.token.hash.size()}),
              "6c1b3dc7a706b9dc81352a6716b9c666c608d8626272c64b914ab05572fc6e84");
}

TEST(ApiToken, keeps_all_256_bits_of_its_secret) {
    std::array<unsigned char, api_token_random_bytes> random{};
    std::set<std::string> texts;
    std::set<ApiTokenHash> hashes;
    for (std::size_t bit = 0; bit < random.size() * 8; ++bit) {
        random.fill(0);
        random[bit / 8] = static_cast<unsigned char>(1U << (bit % 8));
        const NewApiToken made = make_api_token(random);
        texts.insert(made.text);
        hashes.insert(made.token.hash);
    }
    EXPECT_EQ(texts.size(), 336U);
    EXPECT_EQ(hashes.size(), 257U) << "256 secrets, and the one of zeros with each id";
}

TEST(ApiToken, says_what_is_wrong_with_a_text_and_nothing_of_what_is_in_it) {
    const std::string token = numbered_token(7).text;
    std::string typo = token;
    typo[40] = typo[40] == 'x' ? 'y' : 'x';
    std::string upper = token;
    upper[25] = 'Q';
    EXPECT_NE(fault_in("").find("begins with hf_"), std::string::npos);
    EXPECT_NE(fault_in("password").find("begins with hf_"), std::string::npos);
    EXPECT_NE(fault_in(token.substr(0, 70)).find("this one has 70"), std::string::npos);
    EXPECT_NE(fault_in(token + "\n").find("this one has 79"), std::string::npos);
    EXPECT_NE(fault_in(upper).find("only the characters"), std::string::npos);
    EXPECT_NE(fault_in(typo).find("checksum"), std::string::npos);
}

RC_GTEST_PROP(ApiTokenText, of_any_bytes_is_read_back, ()) {
    const auto bytes =
        *rc::gen::container<std::array<unsigned char, api_token_random_bytes>>(rc::gen::arbitrary<unsigned char>());
    const NewApiToken made = make_api_token(bytes);
    const auto parsed = parse_api_token(made.text);
    RC_ASSERT(bool(parsed));
    RC_ASSERT(parsed->id == made.token.id);
    RC_ASSERT(parsed->hash == made.token.hash);
}

RC_GTEST_PROP(ApiTokenText, with_a_wrong_digit_is_found_by_its_checksum, (std::uint64_t number)) {
    std::string text = numbered_token(number).text;
    const auto at = *rc::gen::inRange<std::size_t>(3, text.size());
    const char digit = *rc::gen::elementOf(base32_digits);
    RC_PRE(text[at] != digit && text[at] != '_');
    text[at] = digit;
    RC_ASSERT(fault_in(text).find("checksum") != std::string::npos);
}

RC_GTEST_PROP(ApiTokenText, with_two_digits_exchanged_is_found_by_its_checksum, (std::uint64_t number)) {
    std::string text = numbered_token(number).text;
    const auto at = *rc::gen::inRange<std::size_t>(3, text.size() - 1);
    RC_PRE(text[at] != text[at + 1] && text[at] != '_' && text[at + 1] != '_');
    std::swap(text[at], text[at + 1]);
    RC_ASSERT(!fault_in(text).empty());
}

RC_GTEST_PROP(ApiTokenText, that_is_cut_changed_or_invented_is_refused_without_an_echo, (std::uint64_t number)) {
    std::string text = numbered_token(number).text;
    const std::string secret = text.substr(20, 52);
    const auto changes = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
        rc::gen::pair(rc::gen::inRange<std::size_t>(0, 78), rc::gen::arbitrary<char>())));
    for (const auto& [at, byte] : changes)
        text[at] = byte;
    text.resize(*rc::gen::inRange<std::size_t>(0, 79));
    text += *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    RC_PRE(text != numbered_token(number).text);
    const std::string fault = fault_in(text);
    RC_ASSERT(!fault.empty());
    for (std::size_t i = 0; i + 6 <= secret.size(); ++i)
        RC_ASSERT(fault.find(secret.substr(i, 6)) == std::string::npos);
}

TEST(Redaction, leaves_the_id_and_hides_the_secret) {
    const NewApiToken made = numbered_token(7);
    EXPECT_EQ(redacted("GET /x?token=" + made.text + " 200"), "GET /x?token=hf_" + made.token.id + "_… 200");
    EXPECT_EQ(redacted(made.text + made.text), "hf_" + made.token.id + "_…");
    EXPECT_EQ(redacted("no token: hf and _"), "no token: hf and _");
    EXPECT_EQ(redacted(""), "");
}

TEST(Redaction, hides_what_was_mistyped_or_cut) {
    const NewApiToken made = numbered_token(7);
    const std::string secret = made.text.substr(20);
    EXPECT_EQ(redacted(made.text.substr(0, 40)), "hf_" + made.token.id + "_…");
    EXPECT_EQ(redacted("hf_" + secret + "!"), "hf_…!");
    EXPECT_EQ(redacted("hf_short_" + secret), "hf_…");
    EXPECT_EQ(redacted("hf_" + made.token.id + "_QQ" + secret + "\n"), "hf_" + made.token.id + "_…\n");
}

RC_GTEST_PROP(Redaction, hides_a_secret_in_any_text_and_does_no_more_the_second_time, (std::uint64_t number)) {
    const NewApiToken made = numbered_token(number);
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("hf_ ab2=\"\n")));
    const auto after = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("hf_ ab2=\"\n")));
    const std::string shown = redacted(text + made.text + after);
    RC_ASSERT(shown.find(made.text.substr(20, 52)) == std::string::npos);
    RC_ASSERT(redacted(shown) == shown);
}

}  // namespace
}  // namespace holdfast::auth
