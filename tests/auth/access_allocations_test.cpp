#include <gtest/gtest.h>

#include "auth/access.h"
#include "auth/world.h"
#include "authority/allocations.h"

namespace holdfast::auth {
namespace {

TEST(Access, is_asked_without_an_allocation) {
    AuthState state = enabled_state();
    ASSERT_EQ(outcome(state, PutRole{{"own",
                                      {granted({Verb::read}, "team", "FILE:/a"),
                                       granted({Verb::hold}, "*", "job:", {"billing/*", "x"}),
                                       granted({Verb::hold, Verb::read}, "redis*")}}}),
              "ok");
    ASSERT_EQ(outcome(state, CreatePrincipal{"anna", {"own"}}), "ok");
    const Access anna(state, "anna");
    const Access root(state, "root");
    std::size_t allowed = 0;
    const std::size_t before = authority::allocations();
    for (const Access* access : {&anna, &root}) {
        allowed +=
            access->allows(Verb::hold, {"@team-with-a-long-name/job:7-of-a-long-list", "billing/of-a-long-name"});
        allowed += access->allows(Verb::read, {"@team/FILE:/a/b/c/d/e/f/g/h/i/j/k/**"});
        allowed += access->allows(Verb::hold, {"@redis/a-key-that-is-not-so-short", "anna/of-a-long-name-as-well"});
        allowed += access->allows(Verb::hold, {"@redis/a-key-that-is-not-so-short", "a-random-value-of-some-length"});
        allowed += access->allows_namespace(Verb::read, "redis-3");
        allowed += access->may_act_as(Verb::hold, "billing/of-a-long-name");
    }
    EXPECT_EQ(authority::allocations(), before);
    EXPECT_EQ(allowed, 11U);
}

}  // namespace
}  // namespace holdfast::auth
