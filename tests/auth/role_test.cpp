#include "auth/role.h"

#include <gtest/gtest.h>

#include "auth/limits.h"
#include "auth/world.h"
#include "base/code.h"

namespace holdfast::auth {
namespace {

Verbs verbs_of(std::string_view role) {
    Verbs verbs;
    for (const Grant& grant : built_in_role(role)->grants)
        verbs = verbs.with(grant.verbs);
    return verbs;
}

TEST(BuiltInRoles, are_those_that_are_documented) {
    EXPECT_EQ(verbs_of("admin"), Verbs::all());
    EXPECT_EQ(verbs_of("operator"), Verbs::all().without({Verb::admin_auth}));
    EXPECT_EQ(verbs_of("reader"), Verbs{Verb::read});
    EXPECT_EQ(verbs_of("holder"), (Verbs{Verb::hold, Verb::read}));
    EXPECT_EQ(verbs_of("drone"), Verbs{Verb::drone});
    EXPECT_EQ(verbs_of("publisher"), Verbs{Verb::advertise});
    EXPECT_EQ(verbs_of("metrics"), Verbs{Verb::metrics});
    EXPECT_EQ(built_in_roles().size(), 7U);
    EXPECT_EQ(built_in_role("root"), nullptr);
}

TEST(BuiltInRoles, consist_of_grants_that_anyone_could_write) {
    for (const Role& role : built_in_roles())
        for (const Grant& grant : role.grants) {
            const auto checked = checked_grant(grant);
            ASSERT_TRUE(checked) << role.name << ": " << checked.error().message;
            EXPECT_EQ(*checked, grant) << role.name;
        }
}

TEST(BuiltInRoles, let_only_admins_and_operators_act_as_others) {
    for (const Role& role : built_in_roles())
        for (const Grant& grant : role.grants)
            EXPECT_EQ(covers_holder(grant, "anna", "bert"), role.name == "admin" || role.name == "operator")
                << role.name;
}

TEST(Role, cannot_have_the_name_of_a_built_in_one) {
    for (const Role& role : built_in_roles()) {
        const auto checked = checked_role({role.name, {}});
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, Code::role_fixed);
    }
}

TEST(Role, has_each_grant_once_and_in_normal_form) {
    const Grant same{{Verb::hold}, "", "FILE:/a"};
    const Grant likewise{{Verb::hold}, "default", "FILE:/a/**"};
    const auto checked = checked_role({"r", {same, likewise}});
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->grants, (std::vector<Grant>{granted({Verb::hold}, "default", "FILE:/a")}));
}

TEST(Role, is_refused_with_a_bad_grant_or_with_too_many) {
    EXPECT_FALSE(checked_role({"r", {{{Verb::hold}, "*"}, {{}, "*"}}}));
    std::vector<Grant> grants;
    for (std::size_t i = 0; i < limits::grants_per_role; ++i)
        grants.push_back({{Verb::hold}, "*", "job-" + std::to_string(i)});
    EXPECT_TRUE(checked_role({"r", grants}));
    grants.push_back({{Verb::hold}, "*"});
    EXPECT_FALSE(checked_role({"r", grants}));
}

TEST(PlainNames, have_no_slash_so_that_none_is_a_holder_of_another) {
    for (const char* name : {"a", "anna", "7", "anna.b", "anna@example.com", "worker-7_x"})
        EXPECT_TRUE(check_plain_name("principal", name)) << name;
    for (const char* name : {"", "anna/7", "-a", ".a", "@a", "a b", "a*", "\xc3\xa4", "a\n"})
        EXPECT_FALSE(check_plain_name("principal", name)) << name;
    EXPECT_TRUE(check_plain_name("principal", std::string(limits::name_bytes, 'a')));
    EXPECT_FALSE(check_plain_name("principal", std::string(limits::name_bytes + 1, 'a')));
}

}  // namespace
}  // namespace holdfast::auth
