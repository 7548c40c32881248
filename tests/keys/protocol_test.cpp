#include "keys/protocol.h"

#include <gtest/gtest.h>

namespace holdfast::keys {
namespace {

TEST(Key, is_a_resource_of_its_namespace) {
    EXPECT_EQ(resource_of({"default", "room-1", "blue"}), "KEY:room-1");
    EXPECT_EQ(resource_of({"team", "room-1", ""}), "@team/KEY:room-1");
    EXPECT_EQ(key_of("@team/KEY:room-1"), (Key{"team", "room-1", ""}));
    EXPECT_EQ(key_of("KEY:a/b"), (Key{"default", "a/b", ""}));
    EXPECT_EQ(key_of("FILE:/a"), std::nullopt);
}

TEST(Key, has_one_name) {
    EXPECT_EQ(checked_key({"", "a//b/", "t"}).value(), (Key{"default", "a/b", "t"}));
}

TEST(Key, is_refused_if_a_part_of_it_cannot_be) {
    EXPECT_FALSE(checked_key({"", "", ""}));
    EXPECT_FALSE(checked_key({"", " ", ""})) << "nothing is left of it";
    EXPECT_FALSE(checked_key({"a b", "n", ""}));
    EXPECT_FALSE(checked_key({"", std::string("a\0b", 3), ""}));
    EXPECT_FALSE(checked_key({"", std::string(limits::key_name_bytes + 1, 'x'), ""}));
    EXPECT_FALSE(checked_key({"", "n", std::string(limits::key_tag_bytes + 1, 'x')}));
}

TEST(Key, is_held_by_a_lease_of_its_resource) {
    EXPECT_EQ(lease_of({"default", "room-1", "blue"}, 17), "KEY:room-1#17");
    EXPECT_EQ(lease_of({"team", "room-1", ""}, 17), "@team/KEY:room-1#17");
}

TEST(PlainName, is_also_a_safe_file_name) {
    EXPECT_TRUE(is_plain_name("b-1f.2_X"));
    for (const char* bad : {"", ".a", "a/b", "a b", "ä", ".", "..", "a\n"})
        EXPECT_FALSE(is_plain_name(bad)) << bad;
    EXPECT_FALSE(is_plain_name(std::string(129, 'a')));
    EXPECT_FALSE(is_plain_name(std::string(65, 'a'), 64));
}

TEST(BackendState, has_a_name_that_is_read_back) {
    for (std::size_t i = 0; i < backend_state_count; ++i) {
        const auto state = static_cast<BackendState>(i);
        EXPECT_EQ(parse_backend_state(to_string(state)), state);
    }
    EXPECT_EQ(parse_backend_state("Ready"), std::nullopt);
    for (int i = 0; i <= static_cast<int>(EndReason::internal); ++i)
        EXPECT_EQ(parse_end_reason(to_string(static_cast<EndReason>(i))), static_cast<EndReason>(i));
}

TEST(BackendAddress, has_brackets_if_its_host_has_colons) {
    EXPECT_EQ(address_of("10.0.0.7", 80), "10.0.0.7:80");
    EXPECT_EQ(address_of("fd00::7", 80), "[fd00::7]:80");
    EXPECT_EQ(address_of("[fd00::7]", 80), "[fd00::7]:80");
}

}  // namespace
}  // namespace holdfast::keys
