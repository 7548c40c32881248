#include "auth/verb.h"

#include <gtest/gtest.h>

#include "base/code.h"

namespace holdfast::auth {
namespace {

TEST(Verbs, have_names_that_are_read_back) {
    for (std::size_t i = 0; i < verb_count; ++i) {
        const auto verb = static_cast<Verb>(i);
        EXPECT_EQ(verb_in(name_of(verb)), verb) << name_of(verb);
    }
    EXPECT_EQ(verb_in("admin"), std::nullopt);
    EXPECT_EQ(verb_in(""), std::nullopt);
}

TEST(Verbs, keep_their_numbers_which_are_stored) {
    const auto numbered = {"hold",         "read",         "connect",    "drone",         "advertise", "reach",
                           "admin.leases", "admin.policy", "admin.auth", "admin.cluster", "metrics"};
    std::size_t number = 0;
    for (const char* name : numbered)
        EXPECT_EQ(name_of(static_cast<Verb>(number++)), name);
    EXPECT_EQ(number, verb_count);
}

TEST(Verbs, are_a_set) {
    const Verbs some{Verb::hold, Verb::metrics};
    EXPECT_TRUE(some.has(Verb::hold));
    EXPECT_TRUE(some.has(Verb::metrics));
    EXPECT_FALSE(some.has(Verb::read));
    EXPECT_TRUE(some.has_any({Verb::read, Verb::hold}));
    EXPECT_FALSE(some.has_any({Verb::read}));
    EXPECT_EQ(some.with({Verb::read}).without({Verb::metrics}), (Verbs{Verb::hold, Verb::read}));
    EXPECT_TRUE(Verbs{}.empty());
    for (std::size_t i = 0; i < verb_count; ++i)
        EXPECT_TRUE(Verbs::all().has(static_cast<Verb>(i)));
}

TEST(Verbs, are_read_from_a_list_of_names) {
    EXPECT_EQ(*parse_verbs("read"), (Verbs{Verb::read}));
    EXPECT_EQ(*parse_verbs("admin.auth,hold,hold"), (Verbs{Verb::hold, Verb::admin_auth}));
    EXPECT_EQ(to_string(*parse_verbs("read,hold")), "hold,read");
    EXPECT_EQ(*parse_verbs(to_string(Verbs::all())), Verbs::all());
    for (const char* wrong : {"", "hold,", ",hold", "hold read", "Hold", "hold,write"}) {
        const auto parsed = parse_verbs(wrong);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().code, Code::invalid_argument);
    }
    EXPECT_NE(parse_verbs("hold,write").error().message.find("'write'"), std::string::npos);
}

TEST(Verbs, are_read_from_bits_unless_one_is_unknown) {
    EXPECT_EQ(Verbs::from_bits(Verbs{Verb::read, Verb::metrics}.bits()), (Verbs{Verb::read, Verb::metrics}));
    EXPECT_EQ(Verbs::from_bits(Verbs::all().bits()), Verbs::all());
    EXPECT_EQ(Verbs::from_bits(1U << verb_count), std::nullopt);
    EXPECT_EQ(Verbs::from_bits(~0U), std::nullopt);
}

TEST(Verbs, to_hold_a_resource_are_those_of_the_service_that_it_belongs_to) {
    EXPECT_EQ(verb_to_hold("job:7"), Verb::hold);
    EXPECT_EQ(verb_to_hold("@team/FILE:/a/**"), Verb::hold);
    EXPECT_EQ(verb_to_hold("leader:web"), Verb::hold);
    EXPECT_EQ(verb_to_hold("leader:log"), Verb::admin_cluster);
    EXPECT_EQ(verb_to_hold("KEY:room"), Verb::drone);
    EXPECT_EQ(verb_to_hold("@team/KEY:room"), Verb::drone);
    EXPECT_EQ(verb_to_hold("@redis/KEY:room"), Verb::hold) << "no key of a backend";
    EXPECT_EQ(verb_to_hold("@~services/web"), Verb::advertise);
}

}  // namespace
}  // namespace holdfast::auth
