#include "auth/login.h"

#include <gtest/gtest.h>

#include "auth/world.h"

namespace holdfast::auth {
namespace {

/// `name`, or the failure in brackets.
std::string who(const LoginResult& result) {
    if (const auto* login = std::get_if<Login>(&result)) return login->principal;
    return "(" + std::string(name_of(std::get<LoginFailure>(result))) + ")";
}
std::string who(const AuthState& state, std::string_view text, std::int64_t now = start_ms) {
    return who(log_in(state, text, now));
}

TEST(Login, by_a_token_is_its_principals) {
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(2)}), "ok");
    EXPECT_EQ(who(state, numbered_token(1).text), "root");
    EXPECT_EQ(who(state, numbered_token(2).text), "anna");
}

TEST(Login, fails_without_a_token_that_is_valid_and_says_to_the_server_why) {
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(2, start_ms + 10)}), "ok");
    ASSERT_EQ(outcome(state, AddApiToken{"anna", issued(3)}), "ok");
    EXPECT_EQ(who(state, ""), "(malformed)");
    EXPECT_EQ(who(state, "secret"), "(malformed)");
    EXPECT_EQ(who(state, numbered_token(9).text), "(unknown)");
    EXPECT_EQ(who(state, numbered_token(2).text, start_ms + 9), "anna");
    EXPECT_EQ(who(state, numbered_token(2).text, start_ms + 10), "(expired)");
    ASSERT_EQ(outcome(state, RevokeApiToken{numbered_token(3).token.id}), "ok");
    EXPECT_EQ(who(state, numbered_token(3).text), "(revoked)");
}

TEST(Login, needs_the_secret_and_not_only_the_id) {
    AuthState state = enabled_state();
    const NewApiToken own = numbered_token(1), forged = numbered_token(1, 2);
    ASSERT_EQ(forged.token.id, own.token.id);
    ASSERT_NE(forged.text, own.text);
    ASSERT_TRUE(parse_api_token(forged.text));
    EXPECT_EQ(who(state, forged.text), "(unknown)");
    ASSERT_EQ(outcome(state, RotateApiToken{"root", issued(2)}), "ok");
    EXPECT_EQ(who(state, own.text), "(revoked)");
    EXPECT_EQ(who(state, forged.text), "(unknown)") << "whoever has only the id learns nothing of it";
}

class CertificateLogin : public testing::Test {
 protected:
    CertificateLogin() {
        for (const char* name : {"worker", "special", "host"})
            EXPECT_EQ(outcome(state_, CreatePrincipal{name}), "ok");
        map("spiffe://prod/worker/*", "worker");
        map("spiffe://prod/worker/7", "special");
        map("spiffe://prod/worker/a/*", "special");
        map("*.example.com", "host");
    }
    void map(const char* pattern, const char* principal) {
        EXPECT_EQ(outcome(state_, MapCertificate{pattern, principal}), "ok");
    }
    std::string who(CertificateNames names) const { return auth::who(log_in(state_, names)); }

    AuthState state_ = enabled_state();
};

TEST_F(CertificateLogin, is_the_principals_that_its_name_is_mapped_to) {
    EXPECT_EQ(who({{"spiffe://prod/worker/1"}, {}}), "worker");
    EXPECT_EQ(who({{"spiffe://prod/worker/x/y"}, {}}), "worker");
    EXPECT_EQ(who({{}, {"H1.Example.Com"}}), "host");
    EXPECT_EQ(who({{}, {"h1.sub.example.com"}}), "(unknown)") << "one label";
    EXPECT_EQ(who({{"spiffe://prod/worker"}, {}}), "(unknown)");
    EXPECT_EQ(who({{"spiffe://prod/workers/1"}, {}}), "(unknown)");
    EXPECT_EQ(who({}), "(unknown)");
}

TEST_F(CertificateLogin, follows_the_most_specific_pattern) {
    EXPECT_EQ(who({{"spiffe://prod/worker/7"}, {}}), "special");
    EXPECT_EQ(who({{"spiffe://prod/worker/a/1"}, {}}), "special");
    EXPECT_EQ(who({{"spiffe://prod/worker/a"}, {}}), "worker");
}

TEST_F(CertificateLogin, is_refused_if_its_names_are_of_several_principals) {
    EXPECT_EQ(who({{"spiffe://prod/worker/1"}, {"h1.example.com"}}), "(ambiguous)");
    EXPECT_EQ(who({{"spiffe://prod/worker/1", "spiffe://prod/worker/7"}, {}}), "(ambiguous)");
    EXPECT_EQ(who({{"spiffe://prod/worker/1", "spiffe://prod/worker/2"}, {"elsewhere.org"}}), "worker");
}

TEST_F(CertificateLogin, is_refused_for_a_name_that_may_be_read_in_two_ways) {
    EXPECT_EQ(who({{"spiffe://prod/worker/../admin"}, {}}), "(unknown)");
    EXPECT_EQ(who({{"spiffe://prod/worker//7"}, {}}), "(unknown)");
    EXPECT_EQ(who({{}, {"*.example.com"}}), "(unknown)");
    EXPECT_EQ(who({{}, {std::string("h1.example.com\0.evil.org", 23)}}), "(unknown)");
}

TEST_F(CertificateLogin, ends_when_its_mapping_is_removed_or_another_is_more_specific) {  // A7
    const Login login = std::get<Login>(log_in(state_, CertificateNames{{"spiffe://prod/worker/1"}, {}}));
    EXPECT_EQ(end_of(state_, login, start_ms), std::nullopt);
    EXPECT_EQ(expiry_of(state_, login), std::nullopt);
    map("spiffe://prod/worker/1", "special");
    EXPECT_EQ(end_of(state_, login, start_ms), LoginFailure::revoked);
    ASSERT_EQ(outcome(state_, UnmapCertificate{"spiffe://prod/worker/1"}), "ok");
    EXPECT_EQ(end_of(state_, login, start_ms), std::nullopt);
    ASSERT_EQ(outcome(state_, RemovePrincipal{"worker"}), "ok");
    EXPECT_EQ(end_of(state_, login, start_ms), LoginFailure::revoked);
}

TEST(LoginByToken, ends_when_the_token_does) {  // A7
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(2, start_ms + 10)}), "ok");
    const Login login = std::get<Login>(log_in(state, numbered_token(2).text, start_ms));
    EXPECT_EQ(end_of(state, login, start_ms + 9), std::nullopt);
    EXPECT_EQ(expiry_of(state, login), start_ms + 10);
    EXPECT_EQ(end_of(state, login, start_ms + 10), LoginFailure::expired);
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(3), 5ms}), "ok");
    EXPECT_EQ(expiry_of(state, login), start_ms + 5);
    ASSERT_EQ(outcome(state, RevokeApiToken{numbered_token(2).token.id}), "ok");
    EXPECT_EQ(end_of(state, login, start_ms), LoginFailure::revoked);
    ASSERT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
    EXPECT_EQ(end_of(state, login, start_ms), LoginFailure::revoked);
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(4)}), "ok");
    EXPECT_EQ(end_of(state, login, start_ms), LoginFailure::revoked) << "another principal of the name";
}

TEST(LoginByToken, goes_on_while_others_change) {
    AuthState state = enabled_state();
    const Login login = std::get<Login>(log_in(state, numbered_token(1).text, start_ms));
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(2)}), "ok");
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(3)}), "ok");
    ASSERT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
    EXPECT_EQ(end_of(state, login, start_ms), std::nullopt);
}

}  // namespace
}  // namespace holdfast::auth
