#include "keys/controller/key.h"

#include <gtest/gtest.h>

#include "keys/controller/key_limits.h"

namespace holdfast::keys::controller {
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

TEST(Key, says_in_its_lease_what_its_backend_is) {
    lease::Lease lease;
    lease.holder = "d1";
    lease.session = "b-1";
    lease.metadata = to_json({"b-1", "blue\"", "d1", "life", "ann"});
    const KeyNote note = note_of(lease);
    EXPECT_EQ(note.backend, "b-1");
    EXPECT_EQ(note.tag, "blue\"");
    EXPECT_EQ(note.drone, "d1");
    EXPECT_EQ(note.life, "life");
    EXPECT_EQ(note.user, "ann");
}

TEST(Key, believes_the_lease_more_than_its_metadata) {
    lease::Lease lease;
    lease.holder = "d1";
    lease.session = "b-1";
    for (const char* metadata : {"", "{", "[]", "7", R"({"backend":"x","drone":"y","tag":7})"}) {
        lease.metadata = metadata;
        const KeyNote note = note_of(lease);
        EXPECT_EQ(note.backend, "b-1") << metadata;
        EXPECT_EQ(note.drone, "d1") << metadata;
        EXPECT_EQ(note.tag, "") << metadata;
    }
}

TEST(Key, is_renewed_at_a_half_stopped_at_two_thirds_and_killed_at_five_sixths_of_its_ttl) {
    lease::Lease lease;
    lease.ttl = 60s;
    lease.expires_at = Instant{1060s};
    const KeyTimeline timeline = key_timeline_of(lease);
    EXPECT_EQ(timeline.renew_at, Instant{1030s});
    EXPECT_EQ(timeline.soft_terminate_at, Instant{1040s});
    EXPECT_EQ(timeline.hard_terminate_at, Instant{1050s});
}

TEST(PlainName, is_also_a_safe_file_name) {
    EXPECT_TRUE(is_plain_name("b-1f.2_X", 128));
    for (const char* bad : {"", ".a", "a/b", "a b", "ä"})
        EXPECT_FALSE(is_plain_name(bad, 128)) << bad;
    EXPECT_FALSE(is_plain_name(std::string(129, 'a'), 128));
}

}  // namespace
}  // namespace holdfast::keys::controller
