#include "keys/controller/key.h"

#include <gtest/gtest.h>

namespace holdfast::keys::controller {
namespace {

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

}  // namespace
}  // namespace holdfast::keys::controller
