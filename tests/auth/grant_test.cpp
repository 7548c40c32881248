#include "auth/grant.h"

#include <gtest/gtest.h>

#include "auth/limits.h"
#include "auth/world.h"
#include "base/code.h"

namespace holdfast::auth {
namespace {

bool is_covered(const std::string& prefix, const std::string& name) {
    return covers_resource(granted({Verb::hold}, "*", prefix), lease::split_name(name));
}

/// The message of the refusal; empty if there is none.
std::string fault_in(Grant grant) {
    const auto checked = checked_grant(std::move(grant));
    if (checked) return {};
    EXPECT_EQ(checked.error().code, Code::invalid_argument);
    return checked.error().message;
}

TEST(Grant, is_for_one_namespace_for_those_that_begin_so_or_for_all) {
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "*"), lease::split_name("job")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "*"), lease::split_name("@team/job")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "*"), lease::split_name("@~services/web")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "team"), lease::split_name("@team/job")));
    EXPECT_FALSE(covers_resource(granted({Verb::hold}, "team"), lease::split_name("@team-a/job")));
    EXPECT_FALSE(covers_resource(granted({Verb::hold}, "team"), lease::split_name("job")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "team*"), lease::split_name("@team-a/job")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "team*"), lease::split_name("@team/job")));
    EXPECT_FALSE(covers_resource(granted({Verb::hold}, "team*"), lease::split_name("@tea/job")));
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "redis*"), lease::split_name("@redis-3/k")));
}

TEST(Grant, names_the_default_namespace_default_and_means_it_if_it_names_none) {
    EXPECT_EQ(granted({Verb::hold}, "").name_space, "default");
    EXPECT_TRUE(covers_resource(granted({Verb::hold}, "default"), lease::split_name("job")));
    EXPECT_FALSE(covers_resource(granted({Verb::hold}, "default"), lease::split_name("@team/job")));
    EXPECT_TRUE(covers_namespace(granted({Verb::hold}, "de*"), "default"));
}

TEST(Grant, covers_the_names_that_begin_with_its_prefix) {
    EXPECT_TRUE(is_covered("", "anything"));
    EXPECT_TRUE(is_covered("job:", "job:7"));
    EXPECT_TRUE(is_covered("job:", "@team/job:7"));
    EXPECT_TRUE(is_covered("job", "jobs"));
    EXPECT_FALSE(is_covered("job:", "job"));
    EXPECT_FALSE(is_covered("job:", "a job:7"));
    EXPECT_FALSE(is_covered("team/", "@team/job:7")) << "a prefix is of the name in its namespace";
}

TEST(Grant, covers_the_path_of_its_prefix_and_what_is_below_it) {
    for (const char* prefix : {"FILE:/a", "FILE:/a/", "FILE:/a/**", "FILE:/./a//"}) {
        EXPECT_TRUE(is_covered(prefix, "FILE:/a")) << prefix;
        EXPECT_TRUE(is_covered(prefix, "FILE:/a/b")) << prefix;
        EXPECT_TRUE(is_covered(prefix, "@team/FILE:/a/b/c")) << prefix;
        EXPECT_FALSE(is_covered(prefix, "FILE:/ab")) << prefix;
        EXPECT_FALSE(is_covered(prefix, "FILE:/")) << prefix;
        EXPECT_FALSE(is_covered(prefix, "FILE:a")) << prefix;
        EXPECT_FALSE(is_covered(prefix, "/a")) << prefix;
    }
    EXPECT_TRUE(is_covered("FILE:", "FILE:/a"));
    EXPECT_TRUE(is_covered("FILE:", "FILE:a"));
    EXPECT_TRUE(is_covered("FI", "FILE:/a"));
    EXPECT_TRUE(is_covered("FILE:src", "FILE:src/main.cpp"));
    EXPECT_FALSE(is_covered("FILE:src", "FILE:srcs"));
}

TEST(Grant, of_a_path_covers_no_other_name_that_has_the_path_in_it) {
    EXPECT_FALSE(covers_resource(granted({Verb::hold}, "*", "FILE:/a"), lease::split_name("@redis/@x/FILE:/a")));
    EXPECT_FALSE(is_covered("FILE:/a", "x/FILE:/a"));
}

TEST(Grant, covers_a_tree_only_if_it_covers_all_of_it) {
    EXPECT_TRUE(is_covered("FILE:/a", "FILE:/a/**"));
    EXPECT_TRUE(is_covered("FILE:/a", "FILE:/a/b/**"));
    EXPECT_FALSE(is_covered("FILE:/a", "FILE:/**"));
    EXPECT_FALSE(is_covered("FILE:/a", "FILE:/ab/**"));
    EXPECT_FALSE(is_covered("FILE:/a/b", "FILE:/a/**"));
    EXPECT_TRUE(is_covered("FILE:/", "FILE:/**"));
    EXPECT_TRUE(is_covered("FILE:/**", "FILE:/**"));
    EXPECT_TRUE(is_covered("FILE:/", "FILE:/a"));
    EXPECT_FALSE(is_covered("FILE:/", "FILE:a")) << "a path that does not begin at the root";
    EXPECT_FALSE(is_covered("FILE:/", "FILE:a/**"));
    EXPECT_TRUE(is_covered("FILE:", "FILE:/**"));
}

TEST(Grant, covers_keys_and_services_under_the_names_of_their_resources) {
    const Grant keys = granted({Verb::connect}, "team", "KEY:room-");
    EXPECT_TRUE(covers_resource(keys, lease::split_name("@team/KEY:room-7")));
    EXPECT_FALSE(covers_resource(keys, lease::split_name("KEY:room-7")));
    EXPECT_FALSE(covers_resource(keys, lease::split_name("@team/KEY:hall")));
    const Grant services = granted({Verb::advertise}, "~services", "web");
    EXPECT_TRUE(covers_resource(services, lease::split_name("@~services/web-1")));
    EXPECT_FALSE(covers_resource(services, lease::split_name("@~services/db")));
    EXPECT_FALSE(covers_resource(services, lease::split_name("web-1")));
}

TEST(Grant, lets_its_principal_act_as_itself_unless_it_names_other_holders) {
    const Grant own = granted({Verb::hold});
    EXPECT_TRUE(covers_holder(own, "anna", "anna"));
    EXPECT_TRUE(covers_holder(own, "anna", "anna/7"));
    EXPECT_FALSE(covers_holder(own, "anna", "annabel"));
    EXPECT_FALSE(covers_holder(own, "anna", "ann"));
    EXPECT_FALSE(covers_holder(own, "anna", "bert"));
    EXPECT_FALSE(covers_holder(own, "anna", ""));
    const Grant others = granted({Verb::hold}, "*", "", {"billing/*", "cron-?"});
    EXPECT_TRUE(covers_holder(others, "anna", "billing/1"));
    EXPECT_TRUE(covers_holder(others, "anna", "cron-3"));
    EXPECT_FALSE(covers_holder(others, "anna", "cron-33"));
    EXPECT_FALSE(covers_holder(others, "anna", "billing"));
    EXPECT_FALSE(covers_holder(others, "anna", "anna")) << "not named";
    EXPECT_TRUE(covers_holder(granted({Verb::hold}, "*", "", {"*"}), "anna", "anyone"));
    EXPECT_FALSE(covers_holder(granted({Verb::hold}, "*", "", {"*"}), "anna", ""));
}

TEST(Grant, has_its_prefix_in_normal_form) {
    EXPECT_EQ(granted({Verb::hold}, "*", "FILE:/a/./b//c/").prefix, "FILE:/a/b/c");
    EXPECT_EQ(granted({Verb::hold}, "*", "FILE:/**").prefix, "FILE:/");
    EXPECT_EQ(granted({Verb::hold}, "*", "FILE:").prefix, "FILE:");
    EXPECT_EQ(granted({Verb::hold}, "*", "repo//x/").prefix, "repo/x/") << "else it would cover repo/xy";
    EXPECT_FALSE(is_covered("repo/x/", "repo/xy"));
    const Grant grant = granted({Verb::hold}, "", "FILE:/a/**", {"a"});
    EXPECT_EQ(*checked_grant(grant), grant) << "what is checked stays as it is";
}

TEST(Grant, is_refused_if_it_is_malformed) {
    EXPECT_NE(fault_in({{}, "*"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "a b"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*team"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "te*am"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, std::string(65, 'a')}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "@team/job"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", " job"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "job "}), "") << "without the blank it would cover jobs";
    EXPECT_NE(fault_in({{Verb::hold}, "*", "job:*"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "FILE:/a/../b"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "FILE:/a/**/b"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "job\n"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "\xff"}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "", {""}}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "", {"a\x1b"}}), "");
}

TEST(Grant, is_refused_over_a_limit) {
    EXPECT_EQ(fault_in({{Verb::hold}, "*", std::string(limits::prefix_bytes, 'a')}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", std::string(limits::prefix_bytes + 1, 'a')}), "");
    EXPECT_EQ(fault_in({{Verb::hold}, "*", "", {std::string(limits::holder_pattern_bytes, 'a')}}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "", {std::string(limits::holder_pattern_bytes + 1, 'a')}}), "");
    EXPECT_EQ(fault_in({{Verb::hold}, "*", "", std::vector<std::string>(limits::holders_per_grant, "a")}), "");
    EXPECT_NE(fault_in({{Verb::hold}, "*", "", std::vector<std::string>(limits::holders_per_grant + 1, "a")}), "");
}

TEST(Grant, is_refused_if_one_of_its_verbs_could_never_have_an_effect) {
    for (const Verb verb : {Verb::admin_auth, Verb::admin_cluster, Verb::metrics}) {
        EXPECT_EQ(fault_in({{verb}, "*"}), "");
        EXPECT_NE(fault_in({{verb}, "team"}), "") << "the whole server's, whatever the namespace says";
        EXPECT_NE(fault_in({{Verb::hold, verb}, "*", "job:"}), "");
    }
    EXPECT_EQ(fault_in({{Verb::admin_policy}, "team"}), "");
    EXPECT_NE(fault_in({{Verb::admin_policy}, "team", "job:"}), "");
    EXPECT_EQ(fault_in({{Verb::admin_leases}, "team", "job:"}), "");
    for (const Verb verb : {Verb::advertise, Verb::reach}) {
        EXPECT_EQ(fault_in({{verb}, "*", "web"}), "");
        EXPECT_EQ(fault_in({{verb}, "~services", "web"}), "");
        EXPECT_NE(fault_in({{verb}, "team"}), "");
        EXPECT_NE(fault_in({{verb}, ""}), "");
    }
    for (const Verb verb : {Verb::connect, Verb::drone}) {
        EXPECT_EQ(fault_in({{verb}, "team"}), "");
        EXPECT_EQ(fault_in({{verb}, "team", "KEY:room"}), "");
        EXPECT_EQ(fault_in({{verb}, "team", "KE"}), "");
        EXPECT_NE(fault_in({{verb}, "team", "room"}), "");
        EXPECT_NE(fault_in({{verb}, "~services"}), "");
    }
    EXPECT_NE(fault_in({{Verb::hold}, "~services"}), "");
    EXPECT_EQ(fault_in({{Verb::read}, "~services"}), "");
    EXPECT_NE(fault_in({{Verb::read}, "~keys"}).find("KEY:"), std::string::npos);
}

TEST(Grant, is_shown_as_people_would_say_it) {
    EXPECT_EQ(to_string(granted({Verb::hold, Verb::read}, "billing", "job:", {"billing/*", "x"})),
              "hold,read on billing, prefix job:, as billing/* x");
    EXPECT_EQ(to_string(granted({Verb::metrics})), "metrics on *");
}

}  // namespace
}  // namespace holdfast::auth
