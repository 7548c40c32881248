#include "auth/access.h"

#include <gtest/gtest.h>

#include "auth/world.h"

namespace holdfast::auth {
namespace {

/// Of a principal `anna` with these grants, and access control on.
Access access_with(std::vector<Grant> grants) {
    AuthState state = enabled_state();
    EXPECT_EQ(outcome(state, PutRole{{"own", std::move(grants)}}), "ok");
    EXPECT_EQ(outcome(state, CreatePrincipal{"anna", {"own"}}), "ok");
    return {state, "anna"};
}
Access access_as(const char* role) {
    AuthState state = enabled_state();
    EXPECT_EQ(outcome(state, CreatePrincipal{"anna", {role}}), "ok");
    return {state, "anna"};
}

TEST(Access, of_nobody_allows_nothing) {
    const AuthState state = enabled_state();
    for (const Access& access : {Access(), Access(state, ""), Access(state, "bert"), Access(state, "anonymous")}) {
        EXPECT_EQ(access.principal(), "");
        for (std::size_t i = 0; i < verb_count; ++i) {
            const auto verb = static_cast<Verb>(i);
            EXPECT_FALSE(access.allows(verb, {"job", "bert"}));
            EXPECT_FALSE(access.allows_namespace(verb, "team"));
            EXPECT_FALSE(access.allows_everywhere(verb));
            EXPECT_FALSE(access.allows_anywhere(verb));
            EXPECT_FALSE(access.may_act_as(verb, "bert"));
        }
    }
}

TEST(Access, is_everybodys_while_access_control_is_off) {  // A1
    AuthState state;
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {}, issued(1)}), "ok");
    for (const char* name : {"", "anna", "who"}) {
        const Access access(state, name);
        EXPECT_EQ(access.principal(), "anonymous");
        EXPECT_EQ(access.version(), 1U);
        EXPECT_TRUE(access.is_unrestricted());
        EXPECT_TRUE(access.allows(Verb::hold, {"job", "anyone"}));
        EXPECT_TRUE(access.allows_everywhere(Verb::admin_auth));
    }
}

TEST(Access, of_an_admin_is_unrestricted_and_of_an_operator_it_is_not) {
    const Access admin = access_as("admin");
    EXPECT_TRUE(admin.is_unrestricted());
    EXPECT_EQ(admin.principal(), "anna");
    EXPECT_TRUE(admin.may_act_as(Verb::hold, "bert"));
    const Access ops = access_as("operator");
    EXPECT_FALSE(ops.is_unrestricted());
    EXPECT_FALSE(ops.allows_everywhere(Verb::admin_auth));
    EXPECT_TRUE(ops.allows_everywhere(Verb::admin_policy));
    EXPECT_TRUE(ops.allows(Verb::hold, {"@team/job", "bert"}));
}

TEST(Access, is_limited_to_verb_namespace_and_prefix) {  // A2
    const Access access = access_with({granted({Verb::read}, "team", "job:")});
    EXPECT_TRUE(access.allows(Verb::read, {"@team/job:7"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"@team/job:7", "anna"})) << "another verb";
    EXPECT_FALSE(access.allows(Verb::read, {"job:7"})) << "another namespace";
    EXPECT_FALSE(access.allows(Verb::read, {"@team/room:7"})) << "another prefix";
    EXPECT_TRUE(access.allows_anywhere(Verb::read));
    EXPECT_FALSE(access.allows_anywhere(Verb::hold));
    EXPECT_FALSE(access.allows_namespace(Verb::read, "team")) << "only a part of it";
}

TEST(Access, of_two_grants_is_that_of_either_and_not_of_a_mixture) {
    const Access access = access_with({granted({Verb::read}, "team"), granted({Verb::hold}, "other", "job:")});
    EXPECT_TRUE(access.allows(Verb::read, {"@team/job:7"}));
    EXPECT_TRUE(access.allows(Verb::hold, {"@other/job:7", "anna"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"@team/job:7", "anna"}));
    EXPECT_FALSE(access.allows(Verb::read, {"@other/job:7"}));
}

TEST(Access, binds_the_holder_for_who_holds_and_for_nobody_else) {  // A4
    const Access access = access_with({granted({Verb::hold, Verb::drone, Verb::read, Verb::admin_leases})});
    EXPECT_TRUE(access.allows(Verb::hold, {"job", "anna"}));
    EXPECT_TRUE(access.allows(Verb::hold, {"job", "anna/7"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"job", "bert"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"job"})) << "a holder that was forgotten is refused";
    EXPECT_FALSE(access.allows(Verb::drone, {"KEY:room", "drone-2"}));
    EXPECT_TRUE(access.allows(Verb::drone, {"KEY:room", "anna"}));
    EXPECT_TRUE(access.allows(Verb::read, {"job"}));
    EXPECT_TRUE(access.allows(Verb::read, {"job", "bert"}));
    EXPECT_TRUE(access.allows(Verb::admin_leases, {"job", "bert"}));
    EXPECT_TRUE(access.may_act_as(Verb::hold, "anna/7"));
    EXPECT_FALSE(access.may_act_as(Verb::hold, "bert"));
    EXPECT_FALSE(access.may_act_as(Verb::connect, "anna")) << "no grant has the verb";
}

TEST(Access, to_a_tree_takes_a_grant_of_all_of_it) {  // A3
    const Access access = access_with({granted({Verb::hold}, "*", "FILE:/a"), granted({Verb::hold}, "*", "FILE:/b/c")});
    EXPECT_TRUE(access.allows(Verb::hold, {"FILE:/a/**", "anna"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"FILE:/b/**", "anna"}));
    EXPECT_FALSE(access.allows(Verb::hold, {"FILE:/**", "anna"}));
}

TEST(Access, to_a_whole_namespace_takes_a_grant_without_a_prefix) {
    const Access access = access_with({granted({Verb::admin_policy}, "team*"), granted({Verb::read}, "*", "job:")});
    EXPECT_TRUE(access.allows_namespace(Verb::admin_policy, "team"));
    EXPECT_TRUE(access.allows_namespace(Verb::admin_policy, "team-a"));
    EXPECT_FALSE(access.allows_namespace(Verb::admin_policy, "default"));
    EXPECT_FALSE(access.allows_everywhere(Verb::admin_policy));
    EXPECT_FALSE(access.allows_everywhere(Verb::read));
}

TEST(Access, stays_as_it_was_resolved_and_knows_of_which_version) {  // A7
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"reader"}}), "ok");
    const Access before(state, "anna");
    EXPECT_EQ(before.version(), state.version());
    ASSERT_EQ(outcome(state, RevokeRole{"anna", "reader"}), "ok");
    EXPECT_NE(before.version(), state.version());
    EXPECT_TRUE(before.allows(Verb::read, {"job"})) << "until it is resolved again";
    const Access after(state, "anna");
    EXPECT_FALSE(after.allows(Verb::read, {"job"}));
    EXPECT_EQ(after.principal(), "anna");
}

TEST(Refusal, names_what_is_missing_as_the_request_named_it) {  // A5
    const Access access = access_with({granted({Verb::read}, "team", "job:")});
    const Refusal refusal = access.refusal(Verb::hold, {"@team/FILE:/a/**", "bert"});
    EXPECT_EQ(refusal.verb, Verb::hold);
    EXPECT_EQ(refusal.name_space, "team");
    EXPECT_EQ(refusal.prefix, "FILE:/a/**");
    EXPECT_EQ(refusal.holder, "");
    EXPECT_EQ(message_of(refusal),
              "this takes a grant of hold on namespace team with a prefix of 'FILE:/a/**'; ask an admin for it");
    EXPECT_EQ(access.refusal(Verb::hold, {"job"}).name_space, "default");
    EXPECT_EQ(Access().refusal(Verb::hold, {"job", "anna"}).prefix, "job");
    EXPECT_EQ(message_of(Access::refusal_everywhere(Verb::metrics)),
              "this takes a grant of metrics on namespace *; ask an admin for it");
    EXPECT_EQ(message_of(Access::refusal_of_namespace(Verb::admin_policy, "team")),
              "this takes a grant of admin.policy on namespace team; ask an admin for it");
}

TEST(Refusal, names_the_holder_if_only_that_is_refused) {  // A4
    const Access access = access_with({granted({Verb::hold}, "team")});
    EXPECT_EQ(access.refusal(Verb::hold, {"@team/job", "bert"}).holder, "bert");
    EXPECT_EQ(access.refusal(Verb::hold, {"job", "bert"}).holder, "");
    EXPECT_EQ(message_of(access.refusal(Verb::hold, {"@team/job", "bert"})),
              "this takes a grant of hold on namespace team with a prefix of 'job' that lets the principal act as "
              "'bert'; ask an admin for it");
    EXPECT_EQ(message_of(Access::refusal_as(Verb::drone, "d-1")),
              "this takes a grant of drone on namespace * that lets the principal act as 'd-1'; ask an admin for it");
}

}  // namespace
}  // namespace holdfast::auth
