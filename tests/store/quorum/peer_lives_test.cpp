#include "store/quorum/peer_lives.h"

#include <gtest/gtest.h>

namespace holdfast::store::quorum {
namespace {

using Judgement = PeerLives::Judgement;
using Marks = std::vector<LifeMark>;

/// The state directory of one of three nodes. To copy it is to copy the directory.
struct Directory {
    NodeIndex node = 0;
    Marks lives;
    Marks peer_lives;

    /// A start: its life is durable before it says anything.
    PeerLives start(std::uint64_t incarnation) {
        lives.push_back({static_cast<BootNumber>(lives.size() + 1), incarnation});
        return PeerLives({node, 3, lives, peer_lives});
    }
    void write(PeerLives& running) {
        const auto marks = running.to_write();
        ASSERT_TRUE(marks);
        peer_lives = *marks;
        running.written(*marks);
    }
};

/// What `one` thinks of `other`, which introduces itself.
Judgement judge(const PeerLives& one, NodeIndex one_index, const PeerLives& other, NodeIndex other_index) {
    return one.judge(other_index, other.own(), other.durable()[one_index]);
}

bool talk(const PeerLives& one, NodeIndex one_index, const PeerLives& other, NodeIndex other_index) {
    return judge(one, one_index, other, other_index) == Judgement::current &&
           judge(other, other_index, one, one_index) == Judgement::current;
}

void meet(PeerLives& one, const PeerLives& other, NodeIndex other_index) {
    one.met(other_index, other.own(), other.durable());
}

struct TwoThatMet : testing::Test {
    TwoThatMet() {
        meet(b, a, 0);
        of_b.write(b);
        meet(a, b, 1);
        of_a.write(a);
    }

    Directory of_a{0, {}, {}}, of_b{1, {}, {}};
    Directory copy = of_a;  // of before its first start
    PeerLives a = of_a.start(100), b = of_b.start(200);
};

using PeerLivesOfTwo = TwoThatMet;

TEST(PeerLives, let_no_life_take_part_before_it_is_written_down) {
    Directory of_a{0, {}, {}}, of_b{1, {}, {}};
    PeerLives a = of_a.start(100), b = of_b.start(200);
    ASSERT_TRUE(talk(a, 0, b, 1));
    meet(b, a, 0);
    EXPECT_FALSE(b.may_take_part(0, a.own()));
    EXPECT_EQ(b.durable()[0], LifeMark{}) << "nor is it said to others";
    of_b.write(b);
    EXPECT_TRUE(b.may_take_part(0, a.own()));
    EXPECT_FALSE(b.to_write());
    EXPECT_FALSE(b.may_take_part(0, {1, 101}));
}

TEST(PeerLives, remember_over_a_restart_that_a_later_life_was_met) {
    Directory of_a{0, {}, {}}, of_b{1, {}, {}};
    of_a.start(100);
    Directory copy = of_a;
    of_a.start(101);
    PeerLives a = of_a.start(102), b = of_b.start(200);
    meet(b, a, 0);
    of_b.write(b);
    b = of_b.start(201);
    const PeerLives old = copy.start(103);
    EXPECT_EQ(judge(b, 1, old, 0), Judgement::theirs_is_old);
    EXPECT_EQ(judge(old, 0, b, 1), Judgement::ours_is_old) << "and it knows by itself";
    EXPECT_TRUE(talk(b, 1, of_a.start(104), 0)) << "the directory that it had";
}

TEST_F(PeerLivesOfTwo, know_each_other_again_after_any_restart) {
    EXPECT_TRUE(talk(a, 0, b, 1)) << "the same lives, after a connection broke";
    a = of_a.start(101);
    EXPECT_TRUE(talk(a, 0, b, 1));
    b = of_b.start(201);
    EXPECT_TRUE(talk(a, 0, b, 1));
    a = of_a.start(102);
    EXPECT_TRUE(talk(a, 0, b, 1)) << "also after starts in which nobody was met";
}

TEST(PeerLives, know_a_copy_by_its_incarnation_if_the_boot_number_is_the_same) {
    Directory of_a{0, {}, {}}, of_b{1, {}, {}};
    of_a.start(100);
    Directory copy = of_a;
    PeerLives a = of_a.start(101), b = of_b.start(200);
    meet(b, a, 0);
    of_b.write(b);
    const PeerLives twin = copy.start(102);
    ASSERT_EQ(twin.own().boot, a.own().boot);
    EXPECT_EQ(judge(b, 1, twin, 0), Judgement::theirs_is_old);
    EXPECT_EQ(judge(twin, 0, b, 1), Judgement::ours_is_old);
}

TEST(PeerLives, know_a_copy_that_was_started_often_by_a_life_that_it_never_had) {
    Directory of_a{0, {}, {}}, of_b{1, {}, {}};
    of_a.start(100);
    Directory copy = of_a;
    PeerLives a = of_a.start(101), b = of_b.start(200);
    meet(b, a, 0);
    of_b.write(b);
    for (std::uint64_t incarnation = 102; incarnation < 110; ++incarnation)
        copy.start(incarnation);
    const PeerLives often = copy.start(110);
    ASSERT_GT(often.own().boot, a.own().boot);
    EXPECT_EQ(judge(often, 0, b, 1), Judgement::ours_is_old);
    EXPECT_FALSE(talk(b, 1, often, 0));
}

TEST_F(PeerLivesOfTwo, are_told_to_a_third_that_has_not_met_them) {
    Directory of_c{2, {}, {}};
    PeerLives c = of_c.start(300);
    ASSERT_TRUE(talk(b, 1, c, 2));
    meet(c, b, 1);
    of_c.write(c);
    const PeerLives old = copy.start(101);
    EXPECT_EQ(judge(c, 2, old, 0), Judgement::theirs_is_old) << "b has met a later life of it";
    EXPECT_TRUE(talk(c, 2, a, 0));
    EXPECT_TRUE(c.may_take_part(0, a.own())) << "it is written down already, as b said";
}

TEST_F(PeerLivesOfTwo, part_from_a_life_as_soon_as_a_later_one_is_known) {
    Directory of_c{2, {}, {}};
    PeerLives c = of_c.start(300);
    meet(c, a, 0);
    of_c.write(c);
    const LifeMark before = a.own();
    a = of_a.start(101);
    meet(b, a, 0);
    of_b.write(b);
    meet(c, b, 1);
    EXPECT_FALSE(c.may_take_part(0, before)) << "even before that is on its disk";
}

TEST_F(PeerLivesOfTwo, are_told_to_a_third_that_was_connected_before) {
    Directory of_c{2, {}, {}};
    PeerLives c = of_c.start(300);
    meet(c, b, 1);
    of_c.write(c);
    a = of_a.start(101);
    meet(b, a, 0);
    c.told(1, b.durable());
    EXPECT_EQ(c.to_write(), std::nullopt) << "what is not yet on the disk of b is not told";
    of_b.write(b);
    c.told(1, b.durable());
    of_c.write(c);
    EXPECT_EQ(judge(c, 2, copy.start(102), 0), Judgement::theirs_is_old);
    EXPECT_TRUE(talk(c, 2, a, 0));
}

TEST_F(PeerLivesOfTwo, trust_neither_of_two_that_have_the_same_number) {
    Directory of_c{2, {}, {}};
    PeerLives c = of_c.start(300);
    const PeerLives twin = copy.start(101);
    ASSERT_EQ(twin.own().boot, a.own().boot);
    meet(c, twin, 0);
    of_c.write(c);
    ASSERT_TRUE(c.may_take_part(0, twin.own())) << "it has met nobody who knows better";
    c.told(1, b.durable());
    EXPECT_FALSE(c.may_take_part(0, twin.own()));
    of_c.write(c);
    EXPECT_EQ(judge(c, 2, twin, 0), Judgement::theirs_is_old);
    EXPECT_EQ(judge(c, 2, a, 0), Judgement::theirs_is_old);
    EXPECT_FALSE(b.to_write()) << "the one that it has met is known to b";
    b.told(2, c.durable());
    EXPECT_TRUE(b.may_take_part(0, a.own()));
    const PeerLives later = of_a.start(102);
    EXPECT_TRUE(talk(c, 2, later, 0));
    EXPECT_TRUE(talk(b, 1, later, 0));
}

TEST_F(PeerLivesOfTwo, let_a_node_that_found_itself_to_be_a_copy_take_part_with_nobody) {
    PeerLives twin = copy.start(101);
    Directory of_c{2, {}, {}};
    const PeerLives c = of_c.start(300);
    meet(twin, c, 2);
    copy.write(twin);
    ASSERT_TRUE(twin.may_take_part(2, c.own()));
    ASSERT_EQ(judge(twin, 0, b, 1), Judgement::ours_is_old);
    twin.found_old();
    EXPECT_FALSE(twin.may_take_part(2, c.own()));
    EXPECT_EQ(judge(twin, 0, c, 2), Judgement::ours_is_old);
}

/// docs/decisions/0008-quorum.md: the price of going on with any majority.
TEST_F(PeerLivesOfTwo, cannot_help_one_that_was_cut_off_from_all_who_know) {
    Directory of_c{2, {}, {}};
    EXPECT_TRUE(talk(of_c.start(300), 2, copy.start(101), 0));
}

TEST_F(PeerLivesOfTwo, do_without_the_incarnation_of_a_version_that_has_none) {
    PeerLives c({2, 3, {{5, 0}, {6, 77}}, {}});
    EXPECT_EQ(c.judge(0, a.own(), {5, 0}), Judgement::current) << "met before the upgrade";
    EXPECT_EQ(c.judge(0, a.own(), {6, 0}), Judgement::ours_is_old);
    EXPECT_EQ(c.judge(0, {3, 0}, {}), Judgement::current);
    c.met(0, {3, 0}, {});
    EXPECT_EQ(c.judge(0, {3, 0}, {}), Judgement::current);
    EXPECT_EQ(c.judge(0, {2, 0}, {}), Judgement::theirs_is_old);
}

}  // namespace
}  // namespace holdfast::store::quorum
