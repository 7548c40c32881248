#include "auth/auth_state.h"

#include <gtest/gtest.h>

#include "auth/limits.h"
#include "auth/login.h"
#include "auth/world.h"
#include "base/text.h"

namespace holdfast::auth {
namespace {

constexpr std::int64_t hour = 3'600'000;

bool logs_in(const AuthState& state, std::uint64_t token, std::int64_t now = start_ms) {
    return std::holds_alternative<Login>(log_in(state, numbered_token(token).text, now));
}

Role role(std::string name, Verbs verbs) {
    return {std::move(name), {{verbs, "*"}}};
}

/// With the state as it was before, if the change was refused.
std::string outcome_unchanged(AuthState& state, AuthChange::What what, std::int64_t at = start_ms) {
    const AuthState before = state;
    std::string code = outcome(state, std::move(what), at);
    if (code != "ok") {
        EXPECT_EQ(state, before) << code;
    }
    return code;
}

TEST(AuthState, begins_with_access_control_off_and_the_built_in_roles) {
    const AuthState state;
    EXPECT_FALSE(state.enabled());
    EXPECT_EQ(state.version(), 0U);
    EXPECT_TRUE(state.principals().empty());
    for (const Role& built_in : built_in_roles())
        EXPECT_EQ(state.role(built_in.name), &built_in);
}

TEST(AuthState, has_a_version_that_rises_with_what_takes_effect) {
    AuthState state;
    EXPECT_EQ(outcome(state, CreatePrincipal{"anna"}), "ok");
    EXPECT_EQ(state.version(), 1U);
    EXPECT_EQ(outcome(state, CreatePrincipal{"anna"}), "principal_exists");
    EXPECT_EQ(state.version(), 1U);
    EXPECT_EQ(outcome(state, GrantRole{"anna", "reader"}), "ok");
    EXPECT_EQ(state.version(), 2U);
}

TEST(AuthState, keeps_principals_with_roles_and_the_hash_of_a_token) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"reader", "holder"}, issued(7, start_ms + hour)}), "ok");
    const Principal* anna = state.principal("anna");
    ASSERT_NE(anna, nullptr);
    EXPECT_EQ(anna->roles, (std::set<std::string>{"holder", "reader"}));
    EXPECT_EQ(anna->created_wall_ms, start_ms);
    EXPECT_EQ(anna->rotated_wall_ms, start_ms);
    ASSERT_EQ(anna->api_tokens.size(), 1U);
    EXPECT_EQ(anna->api_tokens[0], (StoredApiToken{numbered_token(7).token.id, numbered_token(7).token.hash, start_ms,
                                                   start_ms + hour, false}));
    EXPECT_EQ(state.owner_of_api_token(numbered_token(7).token.id), anna);
    EXPECT_EQ(state.owner_of_api_token(numbered_token(8).token.id), nullptr);
}

TEST(AuthState, refuses_names_that_are_not_plain_or_the_servers_own) {
    AuthState state;
    for (const char* name : {"", "a/b", "a b", "anonymous", "local-admin"})
        EXPECT_EQ(outcome_unchanged(state, CreatePrincipal{name}), "invalid_argument") << name;
    EXPECT_EQ(outcome_unchanged(state, PutRole{role("a/b", {Verb::read})}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, PutRole{{"r", {{{}, "*"}}}}), "invalid_argument");
}

TEST(AuthState, refuses_changes_of_what_is_not_there) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna"}), "ok");
    EXPECT_EQ(outcome_unchanged(state, CreatePrincipal{"bert", {"nobody"}}), "unknown_role");
    EXPECT_EQ(outcome_unchanged(state, RemovePrincipal{"bert"}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, GrantRole{"bert", "reader"}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, GrantRole{"anna", "nobody"}), "unknown_role");
    EXPECT_EQ(outcome_unchanged(state, RevokeRole{"bert", "reader"}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, RevokeRole{"anna", "reader"}), "unknown_role");
    EXPECT_EQ(outcome_unchanged(state, RemoveRole{"nobody"}), "unknown_role");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"bert", issued(1)}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, RotateApiToken{"bert", issued(1)}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, RevokeApiToken{numbered_token(1).token.id}), "unknown_api_token");
    EXPECT_EQ(outcome_unchanged(state, MapCertificate{"a.b", "bert"}), "unknown_principal");
    EXPECT_EQ(outcome_unchanged(state, UnmapCertificate{"a.b"}), "unknown_mapping");
    EXPECT_EQ(outcome_unchanged(state, UnmapCertificate{"not a pattern"}), "unknown_mapping");
}

TEST(AuthState, changes_and_removes_roles_but_no_built_in_one) {
    AuthState state;
    ASSERT_EQ(outcome(state, PutRole{role("ops", {Verb::read})}), "ok");
    ASSERT_EQ(outcome(state, PutRole{role("ops", {Verb::hold})}), "ok");
    EXPECT_EQ(state.role("ops")->grants, (std::vector<Grant>{granted({Verb::hold})}));
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"ops"}}), "ok");
    EXPECT_EQ(outcome_unchanged(state, RemoveRole{"ops"}), "role_in_use");
    ASSERT_EQ(outcome(state, RevokeRole{"anna", "ops"}), "ok");
    EXPECT_EQ(outcome(state, RemoveRole{"ops"}), "ok");
    EXPECT_EQ(state.role("ops"), nullptr);
    EXPECT_EQ(outcome_unchanged(state, PutRole{role("admin", {Verb::read})}), "role_fixed");
    EXPECT_EQ(outcome_unchanged(state, RemoveRole{"reader"}), "role_fixed");
}

TEST(AuthState, has_at_most_two_valid_tokens_of_a_principal) {  // A6
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1, start_ms + hour)}), "ok");
    ASSERT_EQ(outcome(state, AddApiToken{"anna", issued(2)}), "ok");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(3)}), "too_many_api_tokens");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(3)}, start_ms + hour - 1), "too_many_api_tokens");
    EXPECT_EQ(outcome(state, AddApiToken{"anna", issued(3)}, start_ms + hour), "ok") << "one has expired";
    ASSERT_EQ(outcome(state, RevokeApiToken{numbered_token(2).token.id}, start_ms + hour), "ok");
    EXPECT_EQ(outcome(state, AddApiToken{"anna", issued(4)}, start_ms + hour), "ok");
    EXPECT_EQ(state.principal("anna")->rotated_wall_ms, start_ms + hour);
}

TEST(AuthState, refuses_a_token_that_is_expired_malformed_or_known) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(2, start_ms)}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(2, -1)}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", {{"id", {}}, {}}}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, CreatePrincipal{"bert", {}, issued(1)}), "invalid_argument") << "anna's";
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(1)}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, AddApiToken{"anna", issued(2)}, -1), "invalid_argument");
}

TEST(AuthState, rotates_a_token_with_an_overlap) {  // A6
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(2), 1h}, start_ms), "ok");
    EXPECT_TRUE(logs_in(state, 1, start_ms + hour - 1));
    EXPECT_FALSE(logs_in(state, 1, start_ms + hour));
    EXPECT_TRUE(logs_in(state, 2, start_ms + hour));
    EXPECT_EQ(outcome_unchanged(state, RotateApiToken{"anna", issued(3), 1h}, start_ms + 1), "too_many_api_tokens")
        << "the promised overlap lasts";
    EXPECT_EQ(outcome(state, RotateApiToken{"anna", issued(3), 1h}, start_ms + hour), "ok");
}

TEST(AuthState, a_rotation_makes_no_token_last_longer) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1, start_ms + 10)}), "ok");
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(2), 1h}, start_ms), "ok");
    EXPECT_FALSE(logs_in(state, 1, start_ms + 10));
    EXPECT_EQ(outcome_unchanged(state, RotateApiToken{"anna", issued(3), -1h}), "invalid_argument");
    EXPECT_EQ(outcome_unchanged(state, RotateApiToken{"anna", issued(3), limits::rotation_overlap + 1ms}),
              "invalid_argument");
}

TEST(AuthState, a_rotation_without_overlap_ends_all_former_tokens_at_once) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    ASSERT_EQ(outcome(state, AddApiToken{"anna", issued(2)}), "ok");
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(3)}), "ok");
    EXPECT_FALSE(logs_in(state, 1));
    EXPECT_FALSE(logs_in(state, 2));
    EXPECT_TRUE(logs_in(state, 3));
    EXPECT_FALSE(logs_in(state, 1, start_ms - hour)) << "whatever a clock says";
}

TEST(AuthState, remembers_the_tokens_that_ended_last) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    for (std::uint64_t i = 2; i < 10; ++i)
        ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(i)}, start_ms + static_cast<std::int64_t>(i)), "ok");
    std::set<std::string> ids;
    for (const StoredApiToken& token : state.principal("anna")->api_tokens)
        ids.insert(token.id);
    EXPECT_EQ(ids, (std::set{numbered_token(7).token.id, numbered_token(8).token.id, numbered_token(9).token.id}));
    EXPECT_EQ(state.owner_of_api_token(numbered_token(1).token.id), nullptr);
}

TEST(AuthState, revokes_a_token_once_and_for_good) {  // A6
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    ASSERT_EQ(outcome(state, RevokeApiToken{numbered_token(1).token.id}), "ok");
    EXPECT_FALSE(logs_in(state, 1));
    EXPECT_FALSE(logs_in(state, 1, start_ms - 1));
    EXPECT_EQ(outcome_unchanged(state, RevokeApiToken{numbered_token(1).token.id}), "unknown_api_token");
}

TEST(AuthState, a_change_of_one_principal_leaves_the_tokens_of_all_others) {  // A6
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"reader"}, issued(2)}), "ok");
    ASSERT_EQ(outcome(state, CreatePrincipal{"bert", {"reader"}, issued(3)}), "ok");
    const Principal before = *state.principal("bert");
    ASSERT_EQ(outcome(state, AddApiToken{"anna", issued(4)}), "ok");
    ASSERT_EQ(outcome(state, RotateApiToken{"anna", issued(5)}), "ok");
    ASSERT_EQ(outcome(state, RevokeApiToken{numbered_token(5).token.id}), "ok");
    ASSERT_EQ(outcome(state, RevokeRole{"anna", "reader"}), "ok");
    ASSERT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
    EXPECT_EQ(*state.principal("bert"), before);
    EXPECT_TRUE(logs_in(state, 1) && logs_in(state, 3));
}

TEST(AuthState, removes_a_principal_with_its_tokens_and_mappings) {
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(2)}), "ok");
    ASSERT_EQ(outcome(state, MapCertificate{"*.anna.example", "anna"}), "ok");
    ASSERT_EQ(outcome(state, MapCertificate{"root.example", "root"}), "ok");
    ASSERT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
    EXPECT_EQ(state.mappings(), (AuthState::Mappings{{"root.example", "root"}}));
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna"}), "ok");
    EXPECT_FALSE(logs_in(state, 2)) << "a later principal of the name inherits nothing";
    EXPECT_EQ(outcome(state, AddApiToken{"anna", issued(2)}), "ok");
}

TEST(AuthState, maps_each_pattern_of_certificates_to_one_principal) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna"}), "ok");
    ASSERT_EQ(outcome(state, CreatePrincipal{"bert"}), "ok");
    ASSERT_EQ(outcome(state, MapCertificate{"*.Example.com", "anna"}), "ok");
    EXPECT_EQ(outcome(state, MapCertificate{"*.example.com", "anna"}), "ok") << "it is";
    EXPECT_EQ(outcome_unchanged(state, MapCertificate{"*.example.com", "bert"}), "mapping_taken");
    EXPECT_EQ(outcome_unchanged(state, MapCertificate{"*", "bert"}), "invalid_argument");
    ASSERT_EQ(outcome(state, UnmapCertificate{"*.EXAMPLE.com"}), "ok");
    EXPECT_TRUE(state.mappings().empty());
}

TEST(AuthState, is_enabled_only_with_an_admin_who_can_log_in) {
    AuthState state;
    EXPECT_EQ(outcome_unchanged(state, EnableAuth{}), "no_admin");
    ASSERT_EQ(outcome(state, CreatePrincipal{"root", {"admin"}}), "ok");
    EXPECT_EQ(outcome_unchanged(state, EnableAuth{}), "no_admin") << "without a token";
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"operator"}, issued(2)}), "ok");
    EXPECT_EQ(outcome_unchanged(state, EnableAuth{}), "no_admin") << "an operator changes no access control";
    ASSERT_EQ(outcome(state, AddApiToken{"root", issued(1, start_ms + hour)}), "ok");
    EXPECT_EQ(outcome_unchanged(state, EnableAuth{}, start_ms + hour), "no_admin") << "expired";
    EXPECT_EQ(outcome(state, EnableAuth{}), "ok");
    EXPECT_TRUE(state.enabled());
    EXPECT_EQ(outcome(state, EnableAuth{}, start_ms + hour), "ok") << "it is on already";
    EXPECT_EQ(outcome(state, DisableAuth{}), "ok");
    EXPECT_FALSE(state.enabled());
}

TEST(AuthState, keeps_the_last_admin_who_can_log_in_while_it_is_enabled) {
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, PutRole{role("auth", {Verb::admin_auth})}), "ok");
    EXPECT_EQ(outcome_unchanged(state, RemovePrincipal{"root"}), "no_admin");
    EXPECT_EQ(outcome_unchanged(state, RevokeRole{"root", "admin"}), "no_admin");
    EXPECT_EQ(outcome_unchanged(state, RevokeApiToken{numbered_token(1).token.id}), "no_admin");
    EXPECT_EQ(outcome(state, RotateApiToken{"root", issued(2)}), "ok") << "it has a new one then";
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"auth"}}), "ok");
    EXPECT_EQ(outcome_unchanged(state, RemovePrincipal{"root"}), "no_admin") << "anna cannot log in by a token";
    ASSERT_EQ(outcome(state, AddApiToken{"anna", issued(3)}), "ok");
    ASSERT_EQ(outcome(state, RemovePrincipal{"root"}), "ok");
    EXPECT_EQ(outcome_unchanged(state, PutRole{role("auth", {Verb::read})}), "no_admin");
    ASSERT_EQ(outcome(state, DisableAuth{}), "ok");
    EXPECT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
}

TEST(AuthState, can_still_be_changed_once_the_last_admins_token_has_expired) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"root", {"admin"}, issued(1, start_ms + hour)}), "ok");
    ASSERT_EQ(outcome(state, EnableAuth{}), "ok");
    EXPECT_EQ(outcome(state, CreatePrincipal{"anna"}, start_ms + hour), "ok") << "by the server's own user";
    EXPECT_EQ(outcome(state, AddApiToken{"root", issued(2)}, start_ms + hour), "ok");
}

TEST(AuthState, limits_the_roles_of_a_principal) {
    AuthState state;
    std::set<std::string> roles;
    for (std::size_t i = 0; i < limits::roles_per_principal; ++i) {
        roles.insert("r" + std::to_string(i));
        ASSERT_EQ(outcome(state, PutRole{role("r" + std::to_string(i), {Verb::read})}), "ok");
    }
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", roles}), "ok");
    EXPECT_EQ(outcome_unchanged(state, GrantRole{"anna", "reader"}), "invalid_argument");
    EXPECT_EQ(outcome(state, GrantRole{"anna", "r0"}), "ok") << "it has that one";
}

TEST(AuthState, limits_roles_principals_and_mappings) {
    AuthState state;
    for (std::size_t i = 0; i < limits::roles; ++i)
        ASSERT_EQ(outcome(state, PutRole{role("r" + std::to_string(i), {Verb::read})}), "ok");
    EXPECT_EQ(outcome_unchanged(state, PutRole{role("one-more", {Verb::read})}), "auth_full");
    EXPECT_EQ(outcome(state, PutRole{role("r0", {Verb::hold})}), "ok");
    for (std::size_t i = 0; i < limits::principals; ++i)
        ASSERT_EQ(outcome(state, CreatePrincipal{"p" + std::to_string(i)}), "ok");
    EXPECT_EQ(outcome_unchanged(state, CreatePrincipal{"one-more"}), "auth_full");
    for (std::size_t i = 0; i < limits::mappings; ++i)
        ASSERT_EQ(outcome(state, MapCertificate{"h" + std::to_string(i), "p0"}), "ok");
    EXPECT_EQ(outcome_unchanged(state, MapCertificate{"one-more", "p0"}), "auth_full");
    ASSERT_EQ(outcome(state, RemovePrincipal{"p0"}), "ok");
    EXPECT_TRUE(state.mappings().empty());
}

TEST(AuthState, limits_its_size_and_takes_what_makes_it_smaller) {
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"reader"}, issued(1)}), "ok");
    const auto large = [](std::size_t i) {
        Role made{"r" + std::to_string(i), {}};
        for (std::size_t j = 0; j < limits::grants_per_role; ++j)
            made.grants.push_back({{Verb::read}, "*", std::to_string(j) + std::string(1000, 'x')});
        return made;
    };
    std::size_t roles = 0;
    while (outcome_unchanged(state, PutRole{large(roles)}) == "ok")
        ++roles;
    EXPECT_GT(roles, 20U);
    EXPECT_EQ(outcome(state, PutRole{large(roles)}), "auth_full");
    EXPECT_LE(state.bytes(), limits::state_bytes);
    EXPECT_EQ(outcome(state, RevokeApiToken{numbered_token(1).token.id}), "ok");
    EXPECT_EQ(outcome(state, RevokeRole{"anna", "reader"}), "ok");
    EXPECT_EQ(outcome(state, RemoveRole{"r0"}), "ok");
    EXPECT_EQ(outcome(state, PutRole{large(0)}), "ok");
    while (roles > 0)
        ASSERT_EQ(outcome(state, RemoveRole{"r" + std::to_string(--roles)}), "ok");
    ASSERT_EQ(outcome(state, RemovePrincipal{"anna"}), "ok");
    EXPECT_EQ(state.bytes(), 0U);
}

AuthState::Contents some_contents() {
    return {
        .version = 9,
        .enabled = true,
        .roles = {{"ops", {granted({Verb::hold}, "team", "job:", {"team/*"})}}},
        .principals = {{"anna", {"ops"}, {{numbered_token(1).token.id, {}, start_ms, {}, false}}, start_ms, start_ms}},
        .mappings = {{"a.example", "anna"}}};
}

TEST(AuthState, is_restored_from_its_contents) {
    const auto restored = AuthState::restored(some_contents());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->version(), 9U);
    EXPECT_TRUE(restored->enabled());
    EXPECT_EQ(restored->role("ops")->grants.size(), 1U);
    EXPECT_EQ(restored->owner_of_api_token(numbered_token(1).token.id), restored->principal("anna"));
    EXPECT_EQ(restored->mappings().size(), 1U);
    EXPECT_GT(restored->bytes(), 0U);
}

TEST(AuthState, is_not_restored_from_what_no_changes_could_have_made) {
    const auto refuses = [](const std::function<void(AuthState::Contents&)>& spoil) {
        AuthState::Contents contents = some_contents();
        spoil(contents);
        return !AuthState::restored(std::move(contents));
    };
    EXPECT_FALSE(refuses([](AuthState::Contents&) {}));
    EXPECT_TRUE(refuses([](auto& of) { of.roles[0].name = "admin"; }));
    EXPECT_TRUE(refuses([](auto& of) { of.roles[0].grants[0].prefix = "FILE:/a/"; })) << "not in normal form";
    EXPECT_TRUE(refuses([](auto& of) { of.roles.push_back(of.roles[0]); }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].name = "anonymous"; }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].roles = {"gone"}; }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals.push_back(of.principals[0]); }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].created_wall_ms = -1; }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].api_tokens[0].id = "x"; }));
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].api_tokens[0].revoked = true; })) << "without an end";
    EXPECT_TRUE(refuses([](auto& of) { of.principals[0].api_tokens.push_back(of.principals[0].api_tokens[0]); }));
    EXPECT_TRUE(refuses([](auto& of) {
        for (std::uint64_t i = 2; i < 4; ++i)
            of.principals[0].api_tokens.push_back({numbered_token(i).token.id, {}, start_ms, {}, false});
    })) << "three that are valid";
    EXPECT_TRUE(refuses([](auto& of) { of.mappings = {{"A.example", "anna"}}; }));
    EXPECT_TRUE(refuses([](auto& of) { of.mappings = {{"a.example", "bert"}}; }));
}

TEST(AuthChanges, are_described_in_no_more_than_an_entry_of_the_audit_has_room_for) {
    Role large{"ops", {}};
    for (int i = 0; i < 30; ++i)
        large.grants.push_back({{Verb::read}, "*", "\xc3\xa4" + std::string(50, 'x') + std::to_string(i)});
    for (std::size_t more = 0; more < 4; ++more) {
        large.name += 'x';
        const std::string text = describe({PutRole{large}, start_ms});
        EXPECT_LE(text.size(), 1003U);
        EXPECT_TRUE(text.ends_with("…"));
        EXPECT_TRUE(is_utf8(text));
    }
}

TEST(AuthChanges, are_described_for_the_audit_without_secrets) {
    const auto text = [](AuthChange::What what) { return describe({std::move(what), start_ms}); };
    const std::string id = numbered_token(1).token.id;
    EXPECT_EQ(text(CreatePrincipal{"anna", {"reader"}, issued(1, start_ms)}),
              "create principal anna, role reader, API token " + id + " (expires 2027-01-15T08:00:00.000Z)");
    EXPECT_EQ(text(RemovePrincipal{"anna"}), "remove principal anna");
    EXPECT_EQ(text(PutRole{{"ops", {granted({Verb::hold}, "team", "job:"), granted({Verb::read})}}}),
              "set role ops: [hold on team, prefix job:] [read on *]");
    EXPECT_EQ(text(RemoveRole{"ops"}), "remove role ops");
    EXPECT_EQ(text(GrantRole{"anna", "ops"}), "grant role ops to anna");
    EXPECT_EQ(text(RevokeRole{"anna", "ops"}), "revoke role ops from anna");
    EXPECT_EQ(text(AddApiToken{"anna", issued(1)}), "add to anna: API token " + id);
    EXPECT_EQ(text(RotateApiToken{"anna", issued(1), 24h}), "rotate of anna: API token " + id + ", overlap 24h00m");
    EXPECT_EQ(text(RevokeApiToken{id}), "revoke API token " + id);
    EXPECT_EQ(text(MapCertificate{"a.b", "anna"}), "map certificates a.b to anna");
    EXPECT_EQ(text(UnmapCertificate{"a.b"}), "unmap certificates a.b");
    EXPECT_EQ(text(EnableAuth{}), "enable access control");
    EXPECT_EQ(text(DisableAuth{}), "disable access control");
}

}  // namespace
}  // namespace holdfast::auth
